-- Tasks after one (?1) whose history is looked at, in their order, also those that were deleted.
-- ?2 limit
SELECT id, deleted_at IS NOT NULL AS deleted FROM tasks WHERE id > ?1 ORDER BY id LIMIT ?2
