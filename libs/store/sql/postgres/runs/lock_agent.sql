-- Locks the stream of the agent of a run, as log/lock does.
-- $1 run
SELECT id FROM streams WHERE id = (SELECT agent_id FROM runs WHERE runs.id = $1) FOR NO KEY UPDATE
