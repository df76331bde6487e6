-- Whether a run is a session's under this number, and the session good: a row if so.
-- ?1 session, ?2 run, ?3 epoch, ?4 time
SELECT 1
FROM task_queue AS queue
JOIN task_workers AS worker ON worker.id = queue.worker_id
WHERE queue.id = ?2 AND queue.worker_id = ?1 AND queue.epoch = ?3 AND worker.lease_until > ?4
