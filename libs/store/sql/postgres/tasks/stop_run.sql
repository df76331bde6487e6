-- Asks a run that a worker has to stop.
-- $1 run
UPDATE task_queue
SET cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp())
WHERE id = $1 AND state NOT IN ('waiting', 'blocked', 'ready')
RETURNING task_id
