-- Nothing more becomes of a notification (?2) at a device (?1).
DELETE FROM push_deliveries WHERE device_id = ?1 AND notification_id = ?2
