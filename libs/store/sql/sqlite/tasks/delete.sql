-- Marks a task as deleted; its hook is free. No row written: it was.
-- ?1 id, ?2 time
UPDATE tasks
SET deleted_at = ?2, is_active = 0, version = version + 1, planned_by = version + 1, planned_for = NULL, hook_hash = NULL,
    hook_signature = NULL, hook_key = NULL, webhook_key = NULL
WHERE id = ?1 AND deleted_at IS NULL
