-- Throws away what a task (?1) has queued.
DELETE FROM task_queue
WHERE task_id = ?1 AND worker_id IS NULL AND (state IN ('ready', 'running') OR state IN ('waiting', 'blocked'))
