-- The agents that are not revoked, by id after $1 (null: from the first), at most $2.
SELECT id, owner_id, handle, display_name, max_runs, false AS revoked, created_at
FROM agents
WHERE revoked_at IS NULL AND ($1::uuid IS NULL OR id > $1)
ORDER BY id
LIMIT $2
