-- Ticks that nobody was there for in time, the longest due first, with what is needed to say what becomes of them.
-- ?1 ticks that were due then are late, ?2 limit
SELECT
    queue.id, queue.scheduled_for, tasks.version, tasks.schedule, tasks.timezone, tasks.anchor, tasks.misfire, tasks.retries
FROM task_queue AS queue
JOIN tasks ON tasks.id = queue.task_id
WHERE queue.state = 'waiting' AND queue.trigger = 'schedule' AND queue.attempt = 1 AND queue.due_at <= ?1
ORDER BY queue.due_at, queue.id
LIMIT ?2
