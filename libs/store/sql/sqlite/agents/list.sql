-- The agents that are not revoked, by id after ?1, at most ?2.
SELECT id, owner_id, handle, display_name, max_runs, 0 AS revoked, created_at
FROM agents
WHERE revoked_at IS NULL AND id > ?1
ORDER BY id
LIMIT ?2
