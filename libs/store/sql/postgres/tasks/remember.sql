-- Takes the key of a creating call; no row when it was used.
-- $1 owner, $2 key, $3 task
INSERT INTO idempotency_keys (user_id, key, subject, created_id)
VALUES ($1, $2, 'task', $3)
ON CONFLICT DO NOTHING
RETURNING key
