-- Ends every live sign-in of ?1 at ?2.
UPDATE auth_sessions SET ended_at = ?2 WHERE user_id = ?1 AND ended_at IS NULL RETURNING id
