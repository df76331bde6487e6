-- Forgets where pushes to a device of a person go, and drops what waits for it. Gives a row when there is such a device.
-- $1 device, $2 person
WITH device AS MATERIALIZED (
    SELECT id FROM devices WHERE id = $1 AND user_id = $2
),
gone AS (
    DELETE FROM push_subscriptions USING device WHERE push_subscriptions.device_id = device.id
),
told AS (
    INSERT INTO notification_steps (notification_id, step, reason, device_id)
    SELECT waiting.notification_id, 'dropped', 'unsubscribed', waiting.device_id
    FROM device
    JOIN push_deliveries AS waiting ON waiting.device_id = device.id
)
SELECT id FROM device
