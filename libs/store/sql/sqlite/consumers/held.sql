-- The runs that a session (?1) works on.
SELECT id FROM runs WHERE holder_session_id = ?1 AND status IN ('running', 'waiting')
