-- Removes a run (?1) from the queue.
DELETE FROM task_queue WHERE id = ?1
