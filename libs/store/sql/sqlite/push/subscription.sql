-- Where pushes to a device of a person go, and what the last one came to. No row without a subscription.
-- ?1 device, ?2 person
SELECT address, p256dh, auth, created_at, failures, last_at, last_result
FROM push_subscriptions
WHERE device_id = ?1 AND user_id = ?2
