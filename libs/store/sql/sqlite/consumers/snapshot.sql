-- What an agent's (?1) connection begins with, but its rooms. No row when there is no such agent, or it is revoked or of somebody
-- disabled.
SELECT
    log_state.log_epoch,
    agents.id, agents.owner_id, agents.handle, agents.display_name, agents.max_runs, 0 AS revoked, agents.created_at,
    inbox.head, inbox.floor
FROM agents
JOIN users ON users.id = agents.owner_id
JOIN streams AS inbox ON inbox.id = agents.id
CROSS JOIN log_state
WHERE agents.id = ?1 AND agents.revoked_at IS NULL AND users.disabled_at IS NULL
