-- Ends a sign-in ($2) of a person ($1); says whether it was live until now, and whether there is one at all.
-- The time is read when the row is locked: sessions/ended_since leans on it not being older than the lock.
WITH ended AS (
    UPDATE auth_sessions
    SET ended_at = clock_timestamp()
    WHERE id = $2 AND user_id = $1 AND ended_at IS NULL
    RETURNING id
)
SELECT EXISTS (SELECT FROM ended) AS ended,
    EXISTS (SELECT FROM auth_sessions WHERE id = $2 AND user_id = $1) AS found
