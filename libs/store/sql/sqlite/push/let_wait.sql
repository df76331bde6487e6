-- The push of a notification (?1) waits until ?2, when it is decided again; gives it back.
UPDATE notification_queue SET push_at = ?2, due_at = ?2, claim = NULL WHERE notification_id = ?1
