-- Whether there is such a task.
-- $1 id
SELECT id FROM tasks WHERE id = $1 AND deleted_at IS NULL
