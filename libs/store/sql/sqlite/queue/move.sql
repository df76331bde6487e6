-- Moves a tick that is where it was. One that is moved to a time which has passed is due now.
-- ?1 tick, ?2 where it was, ?3 where it is to be, ?4 time
UPDATE task_queue
SET scheduled_for = ?3, due_at = max(?3, ?4)
WHERE id = ?1 AND state = 'waiting' AND scheduled_for = ?2
