-- Forgets subscriptions, under their locks (push/lock_devices): their receivers are gone. What waited for them is told to be dropped.
-- $1 devices, $2 node
WITH told AS (
    INSERT INTO notification_steps (notification_id, step, reason, device_id, node_id)
    SELECT notification_id, 'dropped', 'gone', device_id, $2
    FROM push_deliveries
    WHERE device_id = ANY ($1::uuid[])
)
DELETE FROM push_subscriptions WHERE device_id = ANY ($1::uuid[])
