-- Whether a person may say where pushes to a device go: a row if it is theirs, and the sign-in by which they say so has not ended.
-- ?1 device, ?2 person, ?3 sign-in
SELECT 1
FROM devices
WHERE id = ?1 AND user_id = ?2
    AND NOT EXISTS (SELECT 1 FROM auth_sessions WHERE auth_sessions.id = ?3 AND ended_at IS NOT NULL)
