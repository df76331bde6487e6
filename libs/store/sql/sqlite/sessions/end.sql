-- Ends a live sign-in (?2) of a person (?1) at ?3.
UPDATE auth_sessions SET ended_at = ?3 WHERE id = ?2 AND user_id = ?1 AND ended_at IS NULL
