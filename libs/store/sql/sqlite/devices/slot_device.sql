-- The device whose slot a session (?2) of a person (?1) holds.
SELECT device_id FROM device_slots WHERE session_id = ?2 AND user_id = ?1
