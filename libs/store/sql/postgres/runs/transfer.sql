-- Gives the runs that one session works on to another one. Their leases last at least so long.
-- $1 session before, $2 session after, $3 microseconds
WITH held AS MATERIALIZED (
    SELECT id
    FROM runs
    WHERE holder_session_id = $1 AND status IN ('running', 'waiting')
    ORDER BY id
    FOR NO KEY UPDATE
)
UPDATE runs
SET holder_session_id = $2,
    lease_until = greatest(runs.lease_until, now() + $3::bigint * interval '1 microsecond')
FROM held
WHERE runs.id = held.id
RETURNING runs.id
