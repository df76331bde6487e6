-- Takes runs away from sessions that are good, but have worked on them for longer than they may and a grace, and from sessions that are no more:
-- the session that never was good has them then.
-- ?1 the time without the grace
UPDATE task_queue
SET worker_id = zeroblob(16)
WHERE id IN (
    SELECT active.id
    FROM task_queue AS active
    JOIN tasks ON tasks.id = active.task_id
    LEFT JOIN task_workers AS worker ON worker.id = active.worker_id
    WHERE active.worker_id IS NOT NULL AND active.worker_id <> zeroblob(16)
        AND (worker.id IS NULL OR active.started_at < ?1 - tasks.max_runtime_ms * 1000)
)
