-- Keeps the places of these sessions live; gives back the sessions that hold one.
-- $1 sessions, $2 how long, in microseconds
WITH held AS MATERIALIZED (
    SELECT id, holder_session_id
    FROM agent_consumer_cursors
    WHERE holder_session_id = ANY ($1::uuid[])
    ORDER BY id
    FOR NO KEY UPDATE
)
UPDATE agent_consumer_cursors
SET live_until = clock_timestamp() + $2::bigint * interval '1 microsecond'
FROM held
WHERE agent_consumer_cursors.id = held.id
RETURNING held.holder_session_id
