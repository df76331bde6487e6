-- Locks the runs that sessions work on, in the order of runs/lock.
-- $1 sessions
SELECT id
FROM runs
WHERE holder_session_id = ANY ($1::uuid[]) AND status IN ('running', 'waiting')
ORDER BY id
FOR NO KEY UPDATE
