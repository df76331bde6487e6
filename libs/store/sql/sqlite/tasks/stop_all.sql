-- Asks the run of a task that a worker has to stop.
-- ?1 task, ?2 time
UPDATE task_queue
SET cancel_requested_at = coalesce(cancel_requested_at, ?2)
WHERE task_id = ?1 AND state IN ('ready', 'running') AND worker_id IS NOT NULL
