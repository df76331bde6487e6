-- Makes a run ready, or blocked.
-- ?1 run, ?2 state, ?3 turn
UPDATE task_queue SET state = ?2, turn = ?3 WHERE id = ?1
