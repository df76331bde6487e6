-- Runs of a task, the newest first: those of each index, then what is shown of the newest of all.
-- $1 task, $2 before which (or null), $3 limit
SELECT run.*
FROM (
    SELECT id
    FROM task_queue
    WHERE task_id = $1 AND stage = 2 AND ($2::uuid IS NULL OR id < $2)
    UNION ALL
    SELECT id
    FROM task_queue
    WHERE task_id = $1 AND stage < 2 AND ($2::uuid IS NULL OR id < $2)
        AND NOT (state = 'waiting' AND trigger = 'schedule' AND attempt = 1)
    UNION ALL
    (
        SELECT id
        FROM task_runs
        WHERE task_id = $1 AND ($2::uuid IS NULL OR id < $2)
        ORDER BY id DESC
        LIMIT $3
    )
    ORDER BY id DESC
    LIMIT $3
) AS found
CROSS JOIN LATERAL (SELECT * FROM task_run_documents WHERE id = found.id LIMIT 1) AS run
ORDER BY run.id DESC
