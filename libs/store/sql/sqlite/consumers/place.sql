-- The place that a session (?1) holds, and the head of the agent's stream.
SELECT consumer.id, consumer.agent_id, consumer.cursor, streams.head
FROM agent_consumer_cursors AS consumer
JOIN streams ON streams.id = consumer.agent_id
WHERE consumer.holder_session_id = ?1
