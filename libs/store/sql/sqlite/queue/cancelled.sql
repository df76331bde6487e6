-- Of these runs (?1, an array) those that are to be stopped.
SELECT id FROM task_queue WHERE id IN rarray(?1) AND cancel_requested_at IS NOT NULL
