-- Ticks that nobody was there for in time, the longest due first, with what is needed to say what becomes of them.
-- $1 grace in microseconds, $2 limit
SELECT
    queue.id, queue.scheduled_for, clock_timestamp() AS now,
    tasks.version, tasks.schedule, tasks.timezone, tasks.anchor, tasks.misfire, tasks.retries
FROM task_queue AS queue
JOIN tasks ON tasks.id = queue.task_id
WHERE queue.stage = 0 AND queue.trigger = 'schedule' AND queue.attempt = 1
    AND queue.due_at <= now() - $1::bigint * interval '1 microsecond'
    AND NOT EXISTS (SELECT FROM cluster_switches WHERE name = 'scheduler' AND NOT enabled)
ORDER BY queue.due_at, queue.id
LIMIT (SELECT $2::bigint)
