-- The runs of an agent (?1) that are not over, in a room (?2; null: in all).
SELECT id
FROM runs
WHERE agent_id = ?1 AND offered_at IS NOT NULL AND status IN ('queued', 'running', 'waiting')
    AND (?2 IS NULL OR room_id = ?2)
UNION ALL
SELECT id
FROM runs
WHERE agent_id = ?1 AND offered_at IS NULL AND status = 'queued' AND (?2 IS NULL OR room_id = ?2)
