-- How many runs of a task no worker has, counted to a limit, and whether one of it is ready or running. One row.
-- The tick that the task waits for is no queued run.
-- ?1 task, ?2 limit
SELECT
    (
        SELECT count(*)
        FROM (
            SELECT 1
            FROM task_queue
            WHERE task_id = ?1 AND state IN ('waiting', 'blocked')
                AND NOT (state = 'waiting' AND trigger = 'schedule' AND attempt = 1)
            LIMIT ?2
        )
    ) + (SELECT count(*) FROM task_queue WHERE task_id = ?1 AND state IN ('ready', 'running') AND worker_id IS NULL) AS runs,
    EXISTS (SELECT 1 FROM task_queue WHERE task_id = ?1 AND state IN ('ready', 'running')) AS busy
