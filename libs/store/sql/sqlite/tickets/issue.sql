-- Stores a ticket by its hash (?1) for a live sign-in (?3) of a person (?2), until ?4, made with an access token that ends at ?5.
-- No row: the sign-in is not live.
INSERT INTO tickets (hash, user_id, session_id, expires_at, token_expires_at)
SELECT ?1, auth_sessions.user_id, auth_sessions.id, ?4, ?5
FROM auth_sessions
JOIN users ON users.id = auth_sessions.user_id
WHERE auth_sessions.id = ?3
    AND auth_sessions.user_id = ?2
    AND auth_sessions.ended_at IS NULL
    AND users.disabled_at IS NULL
RETURNING expires_at
