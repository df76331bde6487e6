-- Makes what is noted of people (?1), where there is nothing yet.
INSERT INTO user_presence (user_id, status, version)
SELECT value, 'offline', 0 FROM rarray(?1) WHERE true
ON CONFLICT (user_id) DO NOTHING
