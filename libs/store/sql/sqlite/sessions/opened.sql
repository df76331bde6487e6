-- A sign-in (?1) of a person (?2) that an earlier, repeated call opened with this token (?3), with its device.
SELECT devices.id, devices.kind, devices.name, devices.created_at
FROM auth_sessions
JOIN refresh_tokens ON refresh_tokens.session_id = auth_sessions.id AND refresh_tokens.hash = ?3
LEFT JOIN devices ON devices.id = auth_sessions.device_id
WHERE auth_sessions.id = ?1 AND auth_sessions.user_id = ?2 AND auth_sessions.ended_at IS NULL
