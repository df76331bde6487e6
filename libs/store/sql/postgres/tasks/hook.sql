-- The hook with this hash; it listens while its task is active and the owner is not disabled.
-- $1 hash
SELECT tasks.id, tasks.hook_signature, tasks.hook_key, tasks.is_active AND users.disabled_at IS NULL AS is_active
FROM tasks
JOIN users ON users.id = tasks.owner_id
WHERE tasks.hook_hash = $1 AND tasks.deleted_at IS NULL
