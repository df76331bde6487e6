-- Deletes a device ($2) of a person ($1), locked before, with its slot, its subscription and what waits for it; answers the epoch after the
-- slot's last.
WITH gone AS (
    DELETE FROM devices WHERE user_id = $1 AND id = $2 RETURNING id
),
told AS (
    INSERT INTO notification_steps (notification_id, step, reason, device_id)
    SELECT waiting.notification_id, 'dropped', 'unsubscribed', waiting.device_id
    FROM gone
    JOIN push_deliveries AS waiting ON waiting.device_id = gone.id
)
SELECT coalesce(device_slots.epoch, 0) + 1 AS epoch
FROM gone
LEFT JOIN device_slots ON device_slots.device_id = gone.id
