-- Writes a row of a connection, unless a newer connection took the device's slot, or the device is gone.
-- ?1 connection, ?2 node, ?3 person, ?4 device or null, ?5 epoch of its slot or null, ?6 kind, ?7 idle, ?8 room on screen or null,
-- ?9 since when it is connected, ?10 time, ?11 until when it can be resumed, or null
INSERT INTO gateway_presence (
    connection_id, node_id, user_id, device_id, epoch, device_kind, idle, focused_room_id,
    connected_at, updated_at, resumable_until
)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
WHERE ?4 IS NULL OR EXISTS (SELECT 1 FROM device_slots WHERE device_slots.device_id = ?4 AND device_slots.epoch <= ?5)
ON CONFLICT (connection_id) DO UPDATE
SET idle = excluded.idle,
    focused_room_id = excluded.focused_room_id,
    updated_at = excluded.updated_at,
    resumable_until = excluded.resumable_until
