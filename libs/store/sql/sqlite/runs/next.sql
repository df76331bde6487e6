-- The runs of an agent (?1) that are the next to get a place, at most ?2, with what it is told of them.
SELECT id, room_id, agent_id, requester_kind, requester_id, input, created_at
FROM runs
WHERE agent_id = ?1 AND offered_at IS NULL AND status = 'queued'
ORDER BY created_at, id
LIMIT ?2
