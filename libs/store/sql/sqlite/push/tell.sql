-- What became of a notification, unless it is gone.
-- ?1 notification, ?2 time, ?3 step, ?4 reason, ?5 node, ?6 device, ?7 detail
INSERT INTO notification_steps (notification_id, at, step, reason, node_id, device_id, detail)
SELECT id, ?2, ?3, ?4, ?5, ?6, ?7 FROM notifications WHERE id = ?1
