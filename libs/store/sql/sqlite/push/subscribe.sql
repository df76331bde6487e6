-- Notes where pushes to a device go that had no subscription.
-- ?1 device, ?2 person, ?3 driver, ?4 address, ?5 public key, ?6 shared secret, ?7 sign-in, ?8 time
INSERT INTO push_subscriptions (device_id, user_id, driver, address, p256dh, auth, session_id, created_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
