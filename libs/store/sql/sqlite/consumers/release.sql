-- The connection of a session (?1) ended at ?2: it counts as connected no more.
UPDATE agent_consumer_cursors SET live_until = min(live_until, ?2) WHERE holder_session_id = ?1
