-- How many notifications a person has not read, by room.
-- ?1 person
SELECT room_id, count(*) AS unread
FROM notifications
WHERE user_id = ?1 AND read_at IS NULL AND withdrawn_at IS NULL
GROUP BY room_id
ORDER BY room_id
