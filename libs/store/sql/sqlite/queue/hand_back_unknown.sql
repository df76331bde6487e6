-- Hands back what a session has, as queue/hand_back, but for the runs that its worker knows of.
-- ?1 session, ?2 runs that are known (an array)
UPDATE task_queue
SET state = 'ready', worker_id = NULL, started_at = NULL, turn = (SELECT turn FROM task_turn)
WHERE worker_id = ?1 AND id NOT IN rarray(?2)
