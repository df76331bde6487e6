-- An agent (?1).
SELECT id, owner_id, handle, display_name, max_runs, revoked_at IS NOT NULL AS revoked, created_at
FROM agents
WHERE id = ?1
