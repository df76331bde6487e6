-- What is due, the longest due first. Ticks that nobody was there for in time are left to queue/late.
-- ?1 time, ?2 ticks that were due then are late, ?3 limit
SELECT id, task_id, owner_id, cost
FROM task_queue
WHERE state = 'waiting' AND due_at <= ?1 AND (trigger <> 'schedule' OR attempt > 1 OR due_at > ?2)
ORDER BY due_at, id
LIMIT ?3
