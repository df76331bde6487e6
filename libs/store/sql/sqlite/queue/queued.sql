-- A run (?1) that is not over.
SELECT id, task_id, trigger, attempt, epoch, worker_id, state FROM task_queue WHERE id = ?1
