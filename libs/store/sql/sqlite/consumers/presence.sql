-- How agents (?1) are noted.
SELECT agent_id, status, version FROM agent_presence WHERE agent_id IN rarray(?1) ORDER BY agent_id
