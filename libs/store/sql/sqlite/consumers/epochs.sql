-- The epochs at which places (?1) stand.
SELECT id, epoch FROM agent_consumer_cursors WHERE id IN rarray(?1)
