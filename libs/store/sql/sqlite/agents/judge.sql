-- An agent (?1) and whether a person (?2) may change it: its owner, or an admin, who is not disabled.
SELECT
    token_id, revoked_at IS NOT NULL AS revoked,
    EXISTS (
        SELECT 1 FROM users
        WHERE users.id = ?2 AND users.disabled_at IS NULL
            AND (users.id = agents.owner_id OR users.role = 'admin')
    ) AS may
FROM agents
WHERE id = ?1
