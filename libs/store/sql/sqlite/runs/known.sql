-- The run that a new one repeats, by its cause or else by its id, and whether it is of the same room, agent and requester.
-- ?1 id, ?2 room, ?3 agent, ?4 kind of requester, ?5 requester, ?6 cause
SELECT
    id,
    room_id = ?2 AND agent_id = ?3 AND requester_kind = ?4 AND requester_id = ?5 AS same
FROM (
    SELECT 1 AS place, id, room_id, agent_id, requester_kind, requester_id
    FROM runs
    WHERE agent_id = ?3 AND requester_id = ?5 AND cause = ?6
    UNION ALL
    SELECT 2, id, room_id, agent_id, requester_kind, requester_id
    FROM runs
    WHERE id = ?1
)
ORDER BY place
LIMIT 1
