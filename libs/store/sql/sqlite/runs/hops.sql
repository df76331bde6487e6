-- The length of the chain that a run belongs to which an agent asks for: one more than the highest of its own runs in the room that are
-- open, or ended lately.
-- ?1 room, ?2 agent that asks, ?3 since when is lately
SELECT 1 + coalesce(max(hops), 0) AS hops
FROM (
    SELECT hops
    FROM runs
    WHERE room_id = ?1 AND agent_id = ?2 AND status IN ('queued', 'running', 'waiting')
    UNION ALL
    SELECT hops
    FROM runs
    WHERE room_id = ?1 AND agent_id = ?2 AND finished_at > ?3
)
