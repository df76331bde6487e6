-- Locks people like presence/lock, but leaves out those whom somebody else is at.
-- $1 people
SELECT user_id
FROM user_presence
WHERE user_id = ANY ($1::uuid[])
ORDER BY user_id
FOR NO KEY UPDATE SKIP LOCKED
