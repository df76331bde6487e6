-- Of the sign-ins ?1 those that are live, of people who are not disabled.
SELECT auth_sessions.id
FROM auth_sessions
JOIN users ON users.id = auth_sessions.user_id
WHERE auth_sessions.id IN rarray(?1) AND auth_sessions.ended_at IS NULL AND users.disabled_at IS NULL
