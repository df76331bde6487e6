-- The family of a refresh token (?1, its hash) that was used before.
SELECT auth_sessions.id AS session_id, auth_sessions.user_id
FROM refresh_tokens
JOIN auth_sessions ON auth_sessions.id = refresh_tokens.session_id
WHERE refresh_tokens.hash = ?1 AND refresh_tokens.used_at IS NOT NULL
