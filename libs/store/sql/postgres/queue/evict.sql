-- Takes runs away from sessions that are good, but have worked on them for longer than they may and a grace, and from sessions that are no more: the
-- session that never was good has them then.
-- $1 grace in microseconds
UPDATE task_queue AS queue
SET worker_id = '00000000-0000-0000-0000-000000000000'
FROM (
    SELECT active.id, active.epoch, active.worker_id
    FROM task_queue AS active
    JOIN tasks ON tasks.id = active.task_id
    LEFT JOIN task_workers AS worker ON worker.id = active.worker_id
    WHERE active.worker_id IS NOT NULL
        AND (
            worker.id IS NULL
            OR active.started_at
            < clock_timestamp() - tasks.max_runtime_ms * interval '1 millisecond' - $1::bigint * interval '1 microsecond'
        )
        AND active.worker_id <> '00000000-0000-0000-0000-000000000000'
) AS hanging
WHERE queue.id = hanging.id AND queue.epoch = hanging.epoch AND queue.worker_id = hanging.worker_id
RETURNING queue.id
