-- The runs that are worked on by whoever holds the place of a name.
-- $1 agent, $2 name
SELECT runs.id
FROM agent_consumer_cursors AS consumer
JOIN runs ON runs.holder_session_id = consumer.holder_session_id AND runs.status IN ('running', 'waiting')
WHERE consumer.agent_id = $1 AND consumer.name = $2
