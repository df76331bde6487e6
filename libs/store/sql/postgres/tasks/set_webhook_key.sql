-- Gives the webhook of a task another key. No row when it calls none.
-- $1 id, $2 key
UPDATE tasks
SET webhook_key = $2, updated_at = clock_timestamp()
WHERE id = $1 AND deleted_at IS NULL AND action ->> 'kind' = 'webhook'
RETURNING id
