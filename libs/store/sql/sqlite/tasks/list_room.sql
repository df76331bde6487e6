-- The tasks of a room, for those in it, the newest first.
-- ?1 reader, ?2 before which, ?3 limit, ?4 room
SELECT task.*
FROM task_documents AS task
WHERE task.room_id = ?4 AND task.id < ?2
    AND EXISTS (SELECT 1 FROM members WHERE room_id = ?4 AND member_id = ?1 AND member_kind = 'user')
ORDER BY task.id DESC
LIMIT ?3
