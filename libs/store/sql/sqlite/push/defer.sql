-- Has a notification decided again, and gives it back.
-- ?1 notification, ?2 when (null: when its push is due; at once when none waits), ?3 time
UPDATE notification_queue SET due_at = coalesce(?2, push_at, ?3), claim = NULL WHERE notification_id = ?1
