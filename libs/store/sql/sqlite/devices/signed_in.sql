-- Whether a sign-in (?1) is live, of a person who is not disabled: a row if so.
SELECT 1
FROM auth_sessions
JOIN users ON users.id = auth_sessions.user_id
WHERE auth_sessions.id = ?1 AND auth_sessions.ended_at IS NULL AND users.disabled_at IS NULL
