-- Marks a task as deleted; its hook is free. No row when it was.
-- $1 id
UPDATE tasks
SET deleted_at = clock_timestamp(), is_active = false, version = version + 1, planned_by = version + 1, planned_for = NULL,
    hook_hash = NULL, hook_signature = NULL, hook_key = NULL, webhook_key = NULL
WHERE id = $1 AND deleted_at IS NULL
RETURNING id
