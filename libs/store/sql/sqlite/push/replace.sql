-- Pushes to a device go somewhere else from now on. What waits for it is looked at now, by whoever comes first.
-- ?1 device, ?2 driver, ?3 address, ?4 public key, ?5 shared secret, ?6 sign-in, ?7 time
UPDATE push_subscriptions
SET driver = ?2,
    address = ?3,
    p256dh = ?4,
    auth = ?5,
    session_id = ?6,
    next_at = CASE WHEN next_at = 1000000000000000000 THEN next_at ELSE ?7 END,
    not_before = -1000000000000000000,
    claim = NULL,
    failures = 0,
    last_at = NULL,
    last_result = NULL
WHERE device_id = ?1
