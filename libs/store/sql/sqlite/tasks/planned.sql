-- The tick of a task (?1), or the attempt at it, that no worker has begun.
SELECT id, task_id, trigger, attempt, epoch, worker_id, state
FROM task_queue
WHERE task_id = ?1 AND trigger = 'schedule' AND state <> 'running'
