-- Whether there is such a task (?1): a row if so.
SELECT 1 FROM tasks WHERE id = ?1 AND deleted_at IS NULL
