-- A task, for those who may read it.
-- ?1 reader, ?2 task
SELECT task.*
FROM task_documents AS task
JOIN users AS person ON person.id = ?1
WHERE task.id = ?2
    AND (
        task.owner_id = ?1 OR person.role = 'admin'
        OR EXISTS (SELECT 1 FROM members WHERE room_id = task.room_id AND member_id = ?1 AND member_kind = 'user')
    )
