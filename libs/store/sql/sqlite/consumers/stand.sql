-- How the place stands that is to be taken: that of a name, or the one that a session holds (or this very connection, that
-- asks again after a lost answer).
-- ?1 agent, ?2 name, or null and ?3 session, ?4 connection, ?5 now
SELECT id, name, epoch, holder_session_id, connection_id, live_until > ?5 AS live
FROM agent_consumer_cursors
WHERE agent_id = ?1 AND (name = ?2 OR (?2 IS NULL AND (holder_session_id = ?3 OR connection_id = ?4)))
ORDER BY connection_id = ?4 DESC
LIMIT 1
