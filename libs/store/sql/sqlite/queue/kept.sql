-- What of a task (?1) says what comes after a run of it. No row: it is deleted.
SELECT planned_by, planned_for, cost, is_active FROM tasks WHERE id = ?1 AND deleted_at IS NULL
