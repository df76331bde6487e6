-- Keeps a place for the connection that has it and asks again.
-- ?1 consumer, ?2 node, ?3 until when it is live
UPDATE agent_consumer_cursors
SET node_id = ?2, live_until = ?3
WHERE id = ?1
RETURNING id, cursor, epoch, holder_session_id
