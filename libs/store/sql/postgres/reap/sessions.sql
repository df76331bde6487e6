-- Removes sign-ins that ended, or whose last refresh token went past its time, more than $2 microseconds ago,
-- at most $1; their tokens go with them.
WITH spent AS MATERIALIZED (
    SELECT id
    FROM auth_sessions
    WHERE ended_at < now() - $2::bigint * interval '1 microsecond'
        OR expires_at < now() - $2::bigint * interval '1 microsecond'
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
DELETE FROM auth_sessions USING spent WHERE auth_sessions.id = spent.id
RETURNING true
