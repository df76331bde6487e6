-- Gives a row when a session (?1) holds its place.
SELECT 1 FROM agent_consumer_cursors WHERE holder_session_id = ?1
