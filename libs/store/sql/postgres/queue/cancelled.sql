-- Of these runs those that are to be stopped.
-- $1 runs
SELECT id
FROM task_queue
WHERE id = ANY($1::uuid[]) AND cancel_requested_at IS NOT NULL
