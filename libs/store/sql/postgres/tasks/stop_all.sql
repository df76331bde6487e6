-- Asks all that a task has queued to stop: whatever state it is in, as it may be claimed or handed back at this moment.
-- $1 task
UPDATE task_queue
SET cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp())
WHERE task_id = $1 AND (stage = 2 OR stage < 2)
