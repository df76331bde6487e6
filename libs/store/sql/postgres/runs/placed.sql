-- The runs that take a place of an agent: offered, or worked on.
-- $1 agent
SELECT id
FROM runs
WHERE agent_id = $1 AND offered_at IS NOT NULL AND status IN ('queued', 'running', 'waiting')
