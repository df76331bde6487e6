-- The run of a task (?1) that is blocked and would be next. No row: none is, or a run of the task is ready or running.
SELECT id, task_id, owner_id, cost
FROM task_queue
WHERE task_id = ?1 AND state IN ('waiting', 'blocked') AND state = 'blocked'
    AND NOT EXISTS (SELECT 1 FROM task_queue AS active WHERE active.task_id = ?1 AND active.state IN ('ready', 'running'))
ORDER BY due_at, id
LIMIT 1
