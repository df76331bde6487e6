-- Changes an agent (?1): ?2 display name, ?3 runs at one time; what is null stays.
UPDATE agents
SET display_name = coalesce(?2, display_name), max_runs = coalesce(?3, max_runs)
WHERE id = ?1
RETURNING id, owner_id, handle, display_name, max_runs, revoked_at IS NOT NULL AS revoked, created_at
