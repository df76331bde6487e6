-- Whether a session (?1) holds a slot: a row if so.
SELECT 1 FROM device_slots WHERE session_id = ?1
