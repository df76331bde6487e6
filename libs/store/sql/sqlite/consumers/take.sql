-- Takes a consumer's place: fresh session, epoch + 1. Made when it is new; it begins at the head of the agent's stream then.
-- ?1 id if it is new, ?2 agent, ?3 name, ?4 session, ?5 connection, ?6 node, ?7 until when it is live, ?8 time
INSERT INTO agent_consumer_cursors AS consumer
    (id, agent_id, name, cursor, epoch, holder_session_id, connection_id, node_id, live_until, taken_at)
SELECT ?1, id, ?3, head, 1, ?4, ?5, ?6, ?7, ?8
FROM streams
WHERE id = ?2
ON CONFLICT (agent_id, name) DO UPDATE
SET epoch = consumer.epoch + 1,
    holder_session_id = excluded.holder_session_id,
    connection_id = excluded.connection_id,
    node_id = excluded.node_id,
    taken_at = excluded.taken_at,
    live_until = excluded.live_until
RETURNING id, cursor, epoch, holder_session_id
