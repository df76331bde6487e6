-- Tasks of which a run is blocked although none is ready or running: whoever ended the last one died before it looked for the next.
-- $1 limit
SELECT DISTINCT queue.task_id
FROM task_queue AS queue
WHERE queue.stage = 1 AND queue.cost > 0
    AND NOT EXISTS (
        SELECT
        FROM task_queue AS active
        WHERE active.task_id = queue.task_id AND active.stage = 2
    )
LIMIT $1
