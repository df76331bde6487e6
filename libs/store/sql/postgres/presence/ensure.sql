-- Makes what is noted of people, where there is nothing yet, so that it can be locked.
-- $1 people
INSERT INTO user_presence (user_id, status, version)
SELECT DISTINCT id, 'offline', 0 FROM unnest($1::uuid[]) AS people (id) ORDER BY id
ON CONFLICT (user_id) DO NOTHING
