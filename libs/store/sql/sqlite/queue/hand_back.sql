-- Hands back a run of a session: ready again, first in line, as the attempt that it is.
-- ?1 session, ?2 run, ?3 epoch
UPDATE task_queue
SET state = 'ready', worker_id = NULL, started_at = NULL, turn = (SELECT turn FROM task_turn)
WHERE id = ?2 AND worker_id = ?1 AND epoch = ?3
