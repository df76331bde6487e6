-- Takes runs away from sessions that are good, but have worked on them for longer than they may and a grace, and from sessions that are no more: the
-- session that never was good has them then. The limit is for the planner: in the order of the line, up to where it has come.
-- $1 grace in microseconds
UPDATE task_queue AS queue
SET worker_id = '00000000-0000-0000-0000-000000000000'
FROM (
    SELECT active.id, active.epoch, active.worker_id
    FROM (
        SELECT id, task_id, epoch, worker_id, started_at
        FROM task_queue
        WHERE stage = 2 AND turn >= 0 AND turn <= (SELECT last_value FROM task_turn)
            AND worker_id <> '00000000-0000-0000-0000-000000000000'
        ORDER BY turn, id
        LIMIT (SELECT 1000000000)
    ) AS active
    JOIN tasks ON tasks.id = active.task_id
    LEFT JOIN task_workers AS worker ON worker.id = active.worker_id
    WHERE worker.id IS NULL
        OR active.started_at
        < clock_timestamp() - tasks.max_runtime_ms * interval '1 millisecond' - $1::bigint * interval '1 microsecond'
) AS hanging
WHERE queue.id = hanging.id AND queue.epoch = hanging.epoch AND queue.worker_id = hanging.worker_id
RETURNING queue.id
