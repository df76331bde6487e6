-- The newest runs of a task: those of each index, then the newest of all. The tick that the task waits for is no run.
-- ?1 task, ?2 before which, ?3 limit
SELECT id
FROM task_queue
WHERE task_id = ?1 AND state IN ('ready', 'running') AND id < ?2
UNION ALL
SELECT id
FROM task_queue
WHERE task_id = ?1 AND state IN ('waiting', 'blocked') AND id < ?2
    AND NOT (state = 'waiting' AND trigger = 'schedule' AND attempt = 1)
UNION ALL
SELECT id
FROM (SELECT id FROM task_runs WHERE task_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3)
ORDER BY id DESC
LIMIT ?3
