-- People of whom a push waits, by id.
-- ?1 after which, ?2 limit
SELECT DISTINCT user_id
FROM notification_queue
WHERE push_at IS NOT NULL AND user_id > ?1
ORDER BY user_id
LIMIT ?2
