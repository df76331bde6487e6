-- The epochs at which places stand.
-- $1 consumers
SELECT id, epoch FROM agent_consumer_cursors WHERE id = ANY ($1::uuid[])
