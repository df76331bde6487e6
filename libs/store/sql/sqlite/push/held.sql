-- Whose notification (?1) it is; no row when the claim (?2) holds it no more.
SELECT user_id FROM notification_queue WHERE notification_id = ?1 AND claim = ?2
