-- Uses a ticket up (?1, its hash): whoever deletes the row has it. It must be in time (?2) and its sign-in live.
DELETE FROM tickets
WHERE hash = ?1
    AND expires_at > ?2
    AND EXISTS (
        SELECT 1
        FROM auth_sessions
        JOIN users ON users.id = auth_sessions.user_id
        WHERE auth_sessions.id = tickets.session_id
            AND auth_sessions.user_id = tickets.user_id
            AND auth_sessions.ended_at IS NULL
            AND users.disabled_at IS NULL
    )
RETURNING user_id, session_id, token_expires_at
