-- Notes what a creating call made, if it has a key; gives a row when the key had been taken meanwhile.
-- $1 creator, $2 key, $3 room
WITH noted AS (
    INSERT INTO idempotency_keys (user_id, key, subject, created_id)
    SELECT $1, $2::text, 'room', $3 WHERE $2::text IS NOT NULL
    ON CONFLICT DO NOTHING
    RETURNING key
)
SELECT true AS taken WHERE $2::text IS NOT NULL AND NOT EXISTS (SELECT FROM noted)
