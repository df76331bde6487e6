-- Gives a task another hook, or none.
-- $1 id, $2 hash, $3 signature, $4 key
UPDATE tasks
SET hook_hash = $2, hook_signature = $3, hook_key = $4, updated_at = clock_timestamp()
WHERE id = $1 AND deleted_at IS NULL
RETURNING id
