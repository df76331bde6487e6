-- Of the tokens $1 those that sign nobody in any more: rotated, of an agent that is revoked, or whose owner is disabled.
SELECT asked.id
FROM unnest($1::uuid[]) AS asked (id)
WHERE NOT EXISTS (
    SELECT
    FROM agents
    JOIN users ON users.id = agents.owner_id
    WHERE agents.token_id = asked.id AND agents.revoked_at IS NULL AND users.disabled_at IS NULL
)
