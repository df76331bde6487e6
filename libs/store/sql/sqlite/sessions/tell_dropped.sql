-- Notes of the pushes that wait where a sign-in (?1) subscribed that they are dropped (at ?2).
INSERT INTO notification_steps (notification_id, at, step, reason, device_id)
SELECT waiting.notification_id, ?2, 'dropped', 'unsubscribed', waiting.device_id
FROM push_subscriptions AS subscribed
JOIN push_deliveries AS waiting ON waiting.device_id = subscribed.device_id
WHERE subscribed.session_id = ?1
