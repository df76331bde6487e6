-- The runs of an agent that are not over.
-- $1 agent, $2 room (null: in all)
SELECT id
FROM runs
WHERE agent_id = $1 AND offered_at IS NOT NULL AND status IN ('queued', 'running', 'waiting')
    AND ($2::uuid IS NULL OR room_id = $2)
UNION ALL
SELECT id
FROM runs
WHERE agent_id = $1 AND offered_at IS NULL AND status = 'queued' AND ($2 IS NULL OR room_id = $2)
