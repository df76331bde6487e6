-- The epochs of the slots of the devices ?1; those that are gone are not among them.
SELECT device_id, epoch FROM device_slots WHERE device_id IN rarray(?1)
