-- Notes what a person wants of notifications.
-- ?1 person, ?2 JSON text
INSERT INTO notification_preferences (user_id, preferences)
VALUES (?1, ?2)
ON CONFLICT (user_id) DO UPDATE SET preferences = excluded.preferences
