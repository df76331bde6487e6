-- The newest token of a family (?1) is good until ?2.
UPDATE auth_sessions SET expires_at = ?2 WHERE id = ?1
