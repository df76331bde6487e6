-- Takes the slot of a device (?1) of a person (?2) for a connection (?3) with a session (?4) on a node (?5), at ?6.
-- The same connection asking again keeps what it has.
INSERT INTO device_slots AS slot (device_id, user_id, connection_id, session_id, node_id, epoch, taken_at)
VALUES (?1, ?2, ?3, ?4, ?5, 1, ?6)
ON CONFLICT (device_id) DO UPDATE
SET session_id = CASE WHEN slot.connection_id = ?3 THEN slot.session_id ELSE ?4 END,
    epoch = CASE WHEN slot.connection_id = ?3 THEN slot.epoch ELSE slot.epoch + 1 END,
    connection_id = ?3,
    node_id = ?5,
    taken_at = ?6
RETURNING session_id, epoch
