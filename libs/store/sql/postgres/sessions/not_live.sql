-- Of the sign-ins $1 those that are ended, unknown, or whose person is disabled.
SELECT asked.id
FROM unnest($1::uuid[]) AS asked (id)
WHERE NOT EXISTS (
    SELECT
    FROM auth_sessions
    JOIN users ON users.id = auth_sessions.user_id
    WHERE auth_sessions.id = asked.id AND auth_sessions.ended_at IS NULL AND users.disabled_at IS NULL
)
