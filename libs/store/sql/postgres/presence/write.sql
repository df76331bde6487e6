-- Writes rows of connections, unless a newer connection took the device's slot, or the device is gone. The people are locked before
-- (presence/lock).
-- $1 node, $2 connections, $3 people, $4 devices or null, $5 epochs of their slots or null, $6 kinds, $7 idle, $8 rooms on screen or null,
-- $9 since when they are connected, in microseconds before now, $10 how long they can be resumed, in microseconds, or null
INSERT INTO gateway_presence (
    connection_id, node_id, user_id, device_id, epoch, device_kind, idle, focused_room_id,
    connected_at, updated_at, resumable_until
)
SELECT
    new.connection_id, $1, new.user_id, new.device_id, new.epoch, new.device_kind, new.idle, new.room_id,
    clock_timestamp() - new.age * interval '1 microsecond',
    clock_timestamp(),
    clock_timestamp() + new.resumable_for * interval '1 microsecond'
FROM unnest(
    $2::uuid[], $3::uuid[], $4::uuid[], $5::bigint[], $6::text[], $7::boolean[], $8::uuid[], $9::bigint[], $10::bigint[]
) AS new (connection_id, user_id, device_id, epoch, device_kind, idle, room_id, age, resumable_for)
LEFT JOIN device_slots AS slot ON slot.device_id = new.device_id
WHERE new.device_id IS NULL OR slot.epoch <= new.epoch
ORDER BY new.connection_id
ON CONFLICT (connection_id) DO UPDATE
SET idle = excluded.idle,
    focused_room_id = excluded.focused_room_id,
    updated_at = excluded.updated_at,
    resumable_until = excluded.resumable_until
