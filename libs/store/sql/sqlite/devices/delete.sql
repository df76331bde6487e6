-- Deletes a device (?2) of a person (?1) with its slot, its subscription and what waits for it.
DELETE FROM devices WHERE user_id = ?1 AND id = ?2
