-- Notes a hint before it is shown. Writes nothing when it was noted before: by whatever node, each screen is hinted once.
-- ?1 notification, ?2 device (or connection that named none), ?3 node, ?4 time
INSERT INTO notification_steps (notification_id, at, step, device_id, node_id)
SELECT id, ?4, 'hinted', ?2, ?3 FROM notifications WHERE id = ?1
ON CONFLICT (notification_id, device_id) WHERE step = 'hinted' DO NOTHING
