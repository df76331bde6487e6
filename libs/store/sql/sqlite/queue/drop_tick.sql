-- Removes a tick (?1) that is where it was (?2).
DELETE FROM task_queue WHERE id = ?1 AND state = 'waiting' AND scheduled_for = ?2
