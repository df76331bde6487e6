-- Keeps the places of these sessions (?1) live until ?2; gives back the sessions that hold one.
UPDATE agent_consumer_cursors SET live_until = ?2 WHERE holder_session_id IN rarray(?1) RETURNING holder_session_id
