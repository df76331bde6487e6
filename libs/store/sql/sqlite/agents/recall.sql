-- What is in the way of an agent that is to be made: what its key was used for, whether its owner may make agents, whether the handle is
-- taken, and the agent that was there before: the one of the key, or without one the one of the id. One row.
-- ?1 id, ?2 owner, ?3 handle, ?4 key (or null)
SELECT
    used.subject,
    EXISTS (SELECT 1 FROM users WHERE users.id = ?2 AND users.disabled_at IS NULL) AS may,
    EXISTS (SELECT 1 FROM handles WHERE handles.handle = ?3) AS taken,
    agents.id, agents.owner_id, agents.handle, agents.display_name, agents.max_runs,
    agents.revoked_at IS NOT NULL AS revoked, agents.created_at
FROM (SELECT 1) AS one
LEFT JOIN idempotency_keys AS used ON used.user_id = ?2 AND used.key = ?4
LEFT JOIN agents ON agents.id = coalesce(used.created_id, ?1)
