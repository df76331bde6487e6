-- Of these people and agents those who may become members: they are there, and not disabled or revoked. An agent
-- of somebody disabled may as little.
-- $1 ids, $2 what each is
SELECT asked.kind, asked.id
FROM unnest($1::uuid[], $2::text[]) AS asked (id, kind)
LEFT JOIN agents ON agents.id = asked.id
JOIN users ON users.id = coalesce(agents.owner_id, asked.id)
WHERE asked.kind = CASE WHEN agents.id IS NULL THEN 'user' ELSE 'agent' END
    AND users.disabled_at IS NULL AND agents.revoked_at IS NULL
