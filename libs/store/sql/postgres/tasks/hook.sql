-- The hook with this hash.
-- $1 hash
SELECT id, hook_signature, hook_key, is_active FROM tasks WHERE hook_hash = $1 AND deleted_at IS NULL
