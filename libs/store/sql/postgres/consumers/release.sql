-- The connection of a session ended: it counts as connected no more.
-- $1 session
UPDATE agent_consumer_cursors
SET live_until = least(live_until, clock_timestamp())
WHERE holder_session_id = $1
