-- Agents that are noted as connected while no consumer of theirs is, at ?1; at most ?2.
SELECT agent_id
FROM agent_presence
WHERE status <> 'offline' AND NOT EXISTS (
    SELECT 1
    FROM agent_consumer_cursors AS consumer
    WHERE consumer.agent_id = agent_presence.agent_id AND consumer.live_until > ?1
)
ORDER BY agent_id
LIMIT ?2
