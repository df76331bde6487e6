-- Forgets the subscriptions of devices (?1), with what waits for them.
DELETE FROM push_subscriptions WHERE device_id IN rarray(?1)
