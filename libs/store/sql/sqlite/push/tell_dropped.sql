-- What waits for devices is told to be dropped.
-- ?1 devices, ?2 why, ?3 node, ?4 time
INSERT INTO notification_steps (notification_id, at, step, reason, device_id, node_id)
SELECT notification_id, ?4, 'dropped', ?2, device_id, ?3
FROM push_deliveries
WHERE device_id IN rarray(?1)
