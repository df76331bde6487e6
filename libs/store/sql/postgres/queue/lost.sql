-- Runs of sessions that are over, with what is needed to say what comes after them.
-- $1 limit
SELECT
    queue.id, queue.task_id, queue.worker_id, queue.epoch, queue.attempt, queue.trigger, queue.scheduled_for,
    clock_timestamp() AS now,
    tasks.version, tasks.schedule, tasks.timezone, tasks.anchor, tasks.misfire, tasks.retries
FROM (SELECT id FROM task_workers WHERE lease_until <= clock_timestamp()) AS worker
CROSS JOIN LATERAL (
    SELECT * FROM task_queue WHERE worker_id = worker.id LIMIT $1
) AS queue
JOIN tasks ON tasks.id = queue.task_id
LIMIT $1
