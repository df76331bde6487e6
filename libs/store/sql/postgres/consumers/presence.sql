-- How agents are noted.
-- $1 agents
SELECT agent_id, status, version FROM agent_presence WHERE agent_id = ANY ($1::uuid[]) ORDER BY agent_id
