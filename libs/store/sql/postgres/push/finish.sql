-- What became of pushes, each of one device, of which the claim still holds (push/lock_devices) counts: notifications that are over for
-- the device, with their step; others wait on.
-- $1 devices, $2 notifications, $3 steps, $4 reasons, $5 details, $6 whether it is over for the device, $7 node
WITH given AS MATERIALIZED (
    SELECT *
    FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::boolean[])
        AS done (device_id, notification_id, step, reason, detail, is_over)
),
over AS (
    DELETE FROM push_deliveries
    USING given
    WHERE push_deliveries.device_id = ANY ($1::uuid[]) AND push_deliveries.device_id = given.device_id
        AND push_deliveries.notification_id = given.notification_id AND given.is_over
),
tried AS (
    UPDATE push_deliveries
    SET attempts = attempts + 1
    FROM given
    WHERE push_deliveries.device_id = ANY ($1::uuid[]) AND push_deliveries.device_id = given.device_id
        AND push_deliveries.notification_id = given.notification_id AND NOT given.is_over
)
INSERT INTO notification_steps (notification_id, step, reason, device_id, detail, node_id)
SELECT given.notification_id, given.step, given.reason, given.device_id, given.detail, $7
FROM given
CROSS JOIN LATERAL (SELECT true FROM notifications WHERE notifications.id = given.notification_id LIMIT 1) AS kept
