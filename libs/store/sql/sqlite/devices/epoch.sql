-- The epoch of the slot of a device (?1), if it ever was taken.
SELECT epoch FROM device_slots WHERE device_id = ?1
