-- What is to be known before a run (?1) is started.
SELECT agent_id, status, holder_session_id, offered_at IS NOT NULL AS offered FROM runs WHERE id = ?1
