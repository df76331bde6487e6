-- Somebody's tasks, the newest first.
-- ?1 owner, ?2 before which, ?3 limit
SELECT task.*
FROM task_documents AS task
WHERE task.owner_id = ?1 AND task.id < ?2
ORDER BY task.id DESC
LIMIT ?3
