-- Has it decided what becomes of a notification (?1) of a person (?2), from ?3 on.
INSERT INTO notification_queue (notification_id, user_id, due_at) VALUES (?1, ?2, ?3)
