-- Renews a worker's session, if it is good still; no row when it is over.
-- $1 session, $2 lease in microseconds
UPDATE task_workers
SET lease_until = clock_timestamp() + $2::bigint * interval '1 microsecond'
WHERE id = $1 AND lease_until > clock_timestamp()
RETURNING id
