-- All tasks, for administrators, the newest first.
-- ?1 reader, ?2 before which, ?3 limit
SELECT task.*
FROM task_documents AS task
WHERE task.id < ?2 AND EXISTS (SELECT 1 FROM users WHERE id = ?1 AND role = 'admin')
ORDER BY task.id DESC
LIMIT ?3
