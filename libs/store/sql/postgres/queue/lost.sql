-- Runs of sessions that are over, with what is needed to say what comes after them. A run that is under way has a turn that the line has come to.
-- The limit is hidden from the planner, which would read the whole queue for it.
-- $1 limit
SELECT
    queue.id, queue.task_id, queue.worker_id, queue.epoch, queue.attempt, queue.trigger, queue.scheduled_for,
    clock_timestamp() AS now,
    tasks.version, tasks.schedule, tasks.timezone, tasks.anchor, tasks.misfire, tasks.retries
FROM (
    SELECT *
    FROM task_queue
    WHERE stage = 2 AND turn >= 0 AND turn <= (SELECT last_value FROM task_turn)
        AND worker_id = ANY(ARRAY(SELECT id FROM task_workers WHERE lease_until <= clock_timestamp()))
    ORDER BY turn, id
    LIMIT (SELECT $1::bigint)
) AS queue
JOIN tasks ON tasks.id = queue.task_id
