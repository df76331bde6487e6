-- Throws away what a task has queued. What it has is locked by tasks/stop_all, so nothing of it changes under this.
-- $1 task
DELETE FROM task_queue
WHERE task_id = $1 AND worker_id IS NULL AND (stage = 2 OR stage < 2)
