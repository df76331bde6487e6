-- What became of a notification, step by step.
-- ?1 notification
SELECT at, step, reason, node_id, device_id, detail
FROM notification_steps
WHERE notification_id = ?1
-- Of two that were written at one instant a drop is the last.
ORDER BY at, step = 'dropped', step
