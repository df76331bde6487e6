-- Removes idempotency keys older than a day, at most $1.
WITH spent AS MATERIALIZED (
    SELECT user_id, key
    FROM idempotency_keys
    WHERE created_at < now() - interval '1 day'
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
DELETE FROM idempotency_keys
USING spent
WHERE idempotency_keys.user_id = spent.user_id AND idempotency_keys.key = spent.key
RETURNING true
