-- Forgets where pushes to a device of a person go. Gives a row when there is such a device.
-- $1 device, $2 person
WITH device AS MATERIALIZED (
    SELECT id FROM devices WHERE id = $1 AND user_id = $2
),
gone AS (
    DELETE FROM push_subscriptions USING device WHERE push_subscriptions.device_id = device.id
)
SELECT id FROM device
