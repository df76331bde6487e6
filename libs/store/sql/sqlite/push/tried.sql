-- A push of a notification (?2) to a device (?1) did not get there; it waits on.
UPDATE push_deliveries SET attempts = attempts + 1 WHERE device_id = ?1 AND notification_id = ?2
