-- Takes notifications that are to be decided, the longest due first. One is due again once the lease is over.
-- ?1 claim, ?2 end of the lease, ?3 time, ?4 limit
UPDATE notification_queue
SET claim = ?1, due_at = ?2
WHERE notification_id IN (
    SELECT notification_id FROM notification_queue WHERE due_at <= ?3 ORDER BY due_at, notification_id LIMIT ?4
)
RETURNING notification_id, push_at
