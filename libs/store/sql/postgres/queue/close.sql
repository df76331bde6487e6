-- Ends a worker's session at once.
-- $1 session
UPDATE task_workers
SET lease_until = clock_timestamp()
WHERE id = $1 AND lease_until > clock_timestamp()
