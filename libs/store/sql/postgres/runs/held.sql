-- The runs that a session works on.
-- $1 session
SELECT * FROM run_documents WHERE holder_session_id = $1 AND status IN ('running', 'waiting') ORDER BY id
