-- A run, for those who may read its task.
-- ?1 reader, ?2 run
SELECT shown.*
FROM task_run_documents AS shown
JOIN tasks AS task ON task.id = shown.task_id
JOIN users AS person ON person.id = ?1
WHERE shown.id = ?2 AND task.deleted_at IS NULL
    AND (
        task.owner_id = ?1 OR person.role = 'admin'
        OR EXISTS (SELECT 1 FROM members WHERE room_id = task.room_id AND member_id = ?1 AND member_kind = 'user')
    )
