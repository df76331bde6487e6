-- Marks a run that is worked on as to be stopped, under its lock (runs/lock).
-- $1 run, $2 its epoch
UPDATE runs
SET cancel_requested_at = now()
WHERE id = $1 AND epoch = $2 AND status IN ('running', 'waiting') AND cancel_requested_at IS NULL
