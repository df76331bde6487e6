-- Whether a connection that has just begun may go on: its sign-in ($1) is live, and its session ($2, null for one without
-- a slot) holds its slot still.
SELECT
    EXISTS (
        SELECT
        FROM auth_sessions
        JOIN users ON users.id = auth_sessions.user_id
        WHERE auth_sessions.id = $1 AND auth_sessions.ended_at IS NULL AND users.disabled_at IS NULL
    ) AS signed_in,
    $2::uuid IS NULL OR EXISTS (SELECT FROM device_slots WHERE session_id = $2) AS holds_slot
