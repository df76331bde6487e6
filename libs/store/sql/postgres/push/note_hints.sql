-- Notes hints before they are shown, and gives those that were not noted before: by whatever node, each screen is hinted once.
-- $1 notifications, $2 devices (or connections that named none), $3 node
INSERT INTO notification_steps (notification_id, step, device_id, node_id)
SELECT given.notification_id, 'hinted', given.device_id, $3
FROM unnest($1::uuid[], $2::uuid[]) AS given (notification_id, device_id)
CROSS JOIN LATERAL (SELECT true FROM notifications WHERE notifications.id = given.notification_id LIMIT 1) AS kept
ORDER BY given.notification_id, given.device_id
ON CONFLICT (notification_id, device_id) WHERE step = 'hinted' DO NOTHING
RETURNING notification_id, device_id
