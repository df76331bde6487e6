-- An agent ($1) and whether a person ($2) may change it: its owner, or an admin, who is not disabled. Runs under the
-- lock of the agent's inbox (log/lock), which everybody takes who changes it.
SELECT
    agents.id, agents.owner_id, agents.handle, agents.display_name, agents.max_runs,
    agents.revoked_at IS NOT NULL AS revoked, agents.created_at, agents.token_id,
    EXISTS (
        SELECT FROM users
        WHERE users.id = $2 AND users.disabled_at IS NULL
            AND (users.id = agents.owner_id OR users.role = 'admin')
    ) AS may
FROM agents
WHERE agents.id = $1
