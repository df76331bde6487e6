-- Asks a run that a worker has to stop.
-- ?1 run, ?2 time
UPDATE task_queue SET cancel_requested_at = coalesce(cancel_requested_at, ?2) WHERE id = ?1
