-- Takes the slot like devices/take, but only while the session $6 holds it, or this very connection already does.
-- Session and epoch are null when neither is so.
WITH device AS MATERIALIZED (
    SELECT id, kind FROM devices WHERE id = $1 AND user_id = $2 FOR KEY SHARE
), taken AS (
    UPDATE device_slots AS slot
    SET session_id = CASE WHEN slot.connection_id = $3 THEN slot.session_id ELSE $4 END,
        epoch = CASE WHEN slot.connection_id = $3 THEN slot.epoch ELSE slot.epoch + 1 END,
        connection_id = $3,
        node_id = $5,
        taken_at = now()
    FROM device
    WHERE slot.device_id = device.id AND (slot.session_id = $6 OR slot.connection_id = $3)
    RETURNING slot.session_id, slot.epoch
)
SELECT device.kind, taken.session_id, taken.epoch
FROM device
LEFT JOIN taken ON true
