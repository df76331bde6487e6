-- What became of a notification of a person, step by step.
-- $1 person, $2 notification
SELECT steps.at, steps.step, steps.reason, steps.node_id, steps.device_id, steps.detail
FROM notifications
JOIN notification_steps AS steps ON steps.notification_id = notifications.id
WHERE notifications.id = $2 AND notifications.user_id = $1
-- Of two that were written at one instant a drop is the last.
ORDER BY steps.at, steps.step = 'dropped', steps.step
