-- Gives a row when a session (?1) holds a place of the agent of a run (?2).
SELECT 1
FROM agent_consumer_cursors AS consumer
JOIN runs ON runs.agent_id = consumer.agent_id
WHERE consumer.holder_session_id = ?1 AND runs.id = ?2
