-- Deletes a device ($2) of a person ($1), locked before, with its slot; answers the epoch after the slot's last.
WITH gone AS (
    DELETE FROM devices WHERE user_id = $1 AND id = $2 RETURNING id
)
SELECT coalesce(device_slots.epoch, 0) + 1 AS epoch
FROM gone
LEFT JOIN device_slots ON device_slots.device_id = gone.id
