-- Agents that are noted as connected while no consumer of theirs is.
-- $1 limit
SELECT agent_id
FROM agent_presence
WHERE status <> 'offline' AND NOT EXISTS (
    SELECT
    FROM agent_consumer_cursors AS consumer
    WHERE consumer.agent_id = agent_presence.agent_id AND consumer.live_until > now()
)
ORDER BY agent_id
LIMIT $1
