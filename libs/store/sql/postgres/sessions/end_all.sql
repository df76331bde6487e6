-- Ends every live sign-in of $1.
UPDATE auth_sessions
SET ended_at = clock_timestamp()
WHERE user_id = $1 AND ended_at IS NULL
RETURNING id
