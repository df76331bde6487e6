-- Gives a row when there is such an agent (?1), neither revoked nor of somebody disabled.
SELECT 1
FROM agents
JOIN users ON users.id = agents.owner_id
WHERE agents.id = ?1 AND agents.revoked_at IS NULL AND users.disabled_at IS NULL
