-- Gives a session the runs that are next in line: running, under a new number.
-- ?1 session, ?2 time, ?3 turn to look from, ?4 limit
UPDATE task_queue
SET state = 'running', worker_id = ?1, epoch = epoch + 1, started_at = ?2
WHERE id IN (SELECT id FROM task_queue WHERE state = 'ready' AND turn >= ?3 ORDER BY turn, id LIMIT ?4)
RETURNING id
