-- Throws away the tick of a task, or the attempts at it, that no worker has begun.
-- $1 task
DELETE FROM task_queue
WHERE task_id = $1 AND trigger = 'schedule' AND state <> 'running'
RETURNING state
