-- Keeps a place for the connection that has it and asks again.
-- $1 consumer, $2 node, $3 how long it is live, in microseconds
UPDATE agent_consumer_cursors
SET node_id = $2, live_until = clock_timestamp() + $3::bigint * interval '1 microsecond'
WHERE id = $1
RETURNING id, cursor, epoch, holder_session_id
