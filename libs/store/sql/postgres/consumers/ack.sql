-- Moves the cursor of the place that a session holds forward, never back and never beyond the head. No row when it holds none.
-- $1 session, $2 seq
WITH place AS MATERIALIZED (
    SELECT id, agent_id, cursor
    FROM agent_consumer_cursors
    WHERE holder_session_id = $1
    FOR NO KEY UPDATE
),
moved AS (
    UPDATE agent_consumer_cursors
    SET cursor = $2
    FROM place
    JOIN streams ON streams.id = place.agent_id
    WHERE agent_consumer_cursors.id = place.id AND place.cursor < $2 AND $2 <= streams.head
    RETURNING agent_consumer_cursors.cursor
)
SELECT streams.head, coalesce(moved.cursor, place.cursor) AS cursor
FROM place
JOIN streams ON streams.id = place.agent_id
LEFT JOIN moved ON true
