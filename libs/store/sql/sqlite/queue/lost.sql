-- Runs of sessions that are over, with what is needed to say what comes after them.
-- The sessions come first (CROSS JOIN keeps the order): those that are over are few, and those that are good have all other runs.
-- ?1 time, ?2 limit
SELECT
    queue.id, queue.task_id, queue.worker_id, queue.epoch, queue.attempt, queue.trigger, queue.scheduled_for, tasks.version,
    tasks.schedule, tasks.timezone, tasks.anchor, tasks.misfire, tasks.retries
FROM task_workers AS worker
CROSS JOIN task_queue AS queue ON queue.worker_id = worker.id
JOIN tasks ON tasks.id = queue.task_id
WHERE worker.lease_until <= ?1
LIMIT ?2
