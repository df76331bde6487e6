-- Notes of the pushes that wait for a device (?2) of a person (?1) that they are dropped (at ?3).
INSERT INTO notification_steps (notification_id, at, step, reason, device_id)
SELECT waiting.notification_id, ?3, 'dropped', 'unsubscribed', waiting.device_id
FROM devices
JOIN push_deliveries AS waiting ON waiting.device_id = devices.id
WHERE devices.user_id = ?1 AND devices.id = ?2
