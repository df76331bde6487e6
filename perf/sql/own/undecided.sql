-- Notifications of which more may become. One row.
SELECT count(*) FROM notification_queue
