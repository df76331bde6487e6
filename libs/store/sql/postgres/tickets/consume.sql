-- Uses a ticket up ($1, its hash): whoever deletes the row has it. It must be in time and its sign-in live.
DELETE FROM tickets
USING auth_sessions
JOIN users ON users.id = auth_sessions.user_id
WHERE tickets.hash = $1
    AND tickets.expires_at > now()
    AND auth_sessions.id = tickets.session_id
    AND auth_sessions.user_id = tickets.user_id
    AND auth_sessions.ended_at IS NULL
    AND users.disabled_at IS NULL
RETURNING tickets.user_id, tickets.session_id, tickets.token_expires_at
