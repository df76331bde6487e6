-- The agent whose token has this hash (?1), and whether it signs in: it is not revoked and its owner not disabled.
SELECT
    agents.id, agents.owner_id, agents.handle, agents.display_name, agents.max_runs,
    agents.revoked_at IS NOT NULL AS revoked, agents.created_at, agents.token_id,
    agents.revoked_at IS NULL AND users.disabled_at IS NULL AS signs_in
FROM agents
JOIN users ON users.id = agents.owner_id
WHERE agents.token_hash = ?1
