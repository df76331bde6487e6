-- Nothing more is to be decided on a notification (?1).
DELETE FROM notification_queue WHERE notification_id = ?1
