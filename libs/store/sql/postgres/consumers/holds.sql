-- Gives a row when a session holds its place.
-- $1 session
SELECT true AS holds FROM agent_consumer_cursors WHERE holder_session_id = $1
