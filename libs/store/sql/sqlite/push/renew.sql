-- The same subscription of a device (?1) again, by another sign-in (?2).
UPDATE push_subscriptions SET session_id = ?2 WHERE device_id = ?1
