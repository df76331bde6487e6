-- Gives a row when a session holds a place of the agent of a run.
-- $1 session, $2 run
SELECT true AS own
FROM agent_consumer_cursors AS consumer
JOIN runs ON runs.agent_id = consumer.agent_id
WHERE consumer.holder_session_id = $1 AND runs.id = $2
