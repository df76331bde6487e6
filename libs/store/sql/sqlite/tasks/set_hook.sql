-- Gives a task another hook, or none. No row written: it is gone.
-- ?1 id, ?2 hash, ?3 signature, ?4 key, ?5 time
UPDATE tasks
SET hook_hash = ?2, hook_signature = ?3, hook_key = ?4, updated_at = ?5
WHERE id = ?1 AND deleted_at IS NULL
