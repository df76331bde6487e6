-- Removes notifications that are older than they are kept, with their steps and all that waits.
-- $1 age in microseconds, $2 limit
DELETE FROM notifications
WHERE id = ANY (ARRAY(
    SELECT id
    FROM notifications
    WHERE created_at < statement_timestamp() - $1::bigint * interval '1 microsecond'
    ORDER BY created_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
))
RETURNING id
