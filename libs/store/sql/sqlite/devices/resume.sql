-- Takes the slot of a device (?1) like devices/take, for a connection (?2) with a session (?3) on a node (?4), but only while the session ?5
-- holds it, or this very connection already does; at ?6.
UPDATE device_slots AS slot
SET session_id = CASE WHEN slot.connection_id = ?2 THEN slot.session_id ELSE ?3 END,
    epoch = CASE WHEN slot.connection_id = ?2 THEN slot.epoch ELSE slot.epoch + 1 END,
    connection_id = ?2,
    node_id = ?4,
    taken_at = ?6
WHERE device_id = ?1 AND (session_id = ?5 OR connection_id = ?2)
RETURNING session_id, epoch
