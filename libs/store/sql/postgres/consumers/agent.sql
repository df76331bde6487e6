-- Gives a row when there is such an agent and it is not revoked.
-- $1 agent
SELECT true AS here FROM agents WHERE id = $1 AND revoked_at IS NULL
