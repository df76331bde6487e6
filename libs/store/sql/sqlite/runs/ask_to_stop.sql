-- Marks a run that is worked on as to be stopped.
-- ?1 run, ?2 its epoch, ?3 time
UPDATE runs
SET cancel_requested_at = ?3
WHERE id = ?1 AND epoch = ?2 AND status IN ('running', 'waiting') AND cancel_requested_at IS NULL
