-- The device that named an address before.
-- ?1 address, ?2 device that names it now
SELECT device_id FROM push_subscriptions WHERE address = ?1 AND device_id <> ?2
