-- When notifications were decided, in microseconds since 1970. Those that were not are left out.
-- $1 notifications
SELECT id, (extract(epoch FROM decided_at) * 1000000)::bigint AS decided
FROM notifications
WHERE id = ANY ($1::uuid[]) AND decided_at IS NOT NULL
