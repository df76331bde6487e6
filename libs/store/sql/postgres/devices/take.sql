-- Takes the slot of a device ($1) of a person ($2) for a connection ($3) with a session ($4) on a node ($5).
-- The same connection asking again keeps what it has. The device is held against being deleted meanwhile.
-- No row: the person has no such device.
WITH device AS MATERIALIZED (
    SELECT id, user_id, kind FROM devices WHERE id = $1 AND user_id = $2 FOR KEY SHARE
), taken AS (
    INSERT INTO device_slots AS slot (device_id, user_id, session_id, connection_id, node_id, epoch)
    SELECT id, user_id, $4, $3, $5, 1 FROM device
    ON CONFLICT (device_id) DO UPDATE
    SET session_id = CASE WHEN slot.connection_id = $3 THEN slot.session_id ELSE $4 END,
        epoch = CASE WHEN slot.connection_id = $3 THEN slot.epoch ELSE slot.epoch + 1 END,
        connection_id = $3,
        node_id = $5,
        taken_at = now()
    RETURNING session_id, epoch
)
SELECT device.kind, taken.session_id, taken.epoch
FROM device
CROSS JOIN taken
