-- The hook with this hash (?1). Whether its task listens is judged where the run is queued.
SELECT id, hook_signature, hook_key FROM tasks WHERE hook_hash = ?1 AND deleted_at IS NULL
