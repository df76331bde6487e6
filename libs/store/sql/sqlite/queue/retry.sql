-- Makes a run that was recorded the next attempt at the same thing: with its input, its trace, and the wish that it stop, if somebody has it.
-- ?1 run, ?2 the next attempt, ?3 cost, ?4 when it is due, ?5 time
UPDATE task_queue
SET id = ?2, state = 'waiting', worker_id = NULL, started_at = NULL, turn = 0, epoch = 0, attempt = attempt + 1, cost = ?3,
    due_at = ?4, created_at = ?5
WHERE id = ?1
