-- Gives the webhook of a task another key. No row written: it calls none.
-- ?1 id, ?2 key, ?3 time
UPDATE tasks
SET webhook_key = ?2, updated_at = ?3
WHERE id = ?1 AND deleted_at IS NULL AND action ->> 'kind' = 'webhook'
