-- Of tokens (?1) those that sign nobody in any more: rotated, of an agent that is revoked, or whose owner is disabled.
SELECT asked.value AS id
FROM rarray(?1) AS asked
WHERE NOT EXISTS (
    SELECT 1
    FROM agents
    JOIN users ON users.id = agents.owner_id
    WHERE agents.token_id = asked.value AND agents.revoked_at IS NULL AND users.disabled_at IS NULL
)
