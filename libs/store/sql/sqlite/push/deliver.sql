-- A notification is to be pushed to each device of its person that has a subscription.
-- ?1 notification, ?2 person, ?3 why
INSERT INTO push_deliveries (device_id, notification_id, room_id, reason)
SELECT subscriptions.device_id, notifications.id, notifications.room_id, ?3
FROM notifications
JOIN push_subscriptions AS subscriptions ON subscriptions.user_id = ?2
WHERE notifications.id = ?1
ON CONFLICT DO NOTHING
