-- The family of a refresh token (?1, its hash) that may be exchanged now (?2).
SELECT auth_sessions.id, auth_sessions.user_id, auth_sessions.device_id
FROM refresh_tokens
JOIN auth_sessions ON auth_sessions.id = refresh_tokens.session_id
JOIN users ON users.id = auth_sessions.user_id
WHERE refresh_tokens.hash = ?1
    AND refresh_tokens.used_at IS NULL
    AND refresh_tokens.expires_at > ?2
    AND auth_sessions.ended_at IS NULL
    AND users.disabled_at IS NULL
