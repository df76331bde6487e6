-- The runs that a session (?1) works on.
SELECT * FROM run_documents WHERE holder_session_id = ?1 AND status IN ('running', 'waiting') ORDER BY id
