-- Throws away what a task has queued, and asks its run to stop.
-- $1 task
WITH stopped AS (
    UPDATE task_queue
    SET cancel_requested_at = clock_timestamp()
    WHERE task_id = $1 AND state = 'running' AND cancel_requested_at IS NULL
)
DELETE FROM task_queue
WHERE task_id = $1 AND state <> 'running'
