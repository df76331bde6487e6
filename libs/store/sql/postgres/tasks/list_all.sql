-- All tasks, for administrators, the newest first.
-- $1 reader, $2 before which (or null), $3 limit
SELECT task.*, task.action::text AS action_text
FROM task_documents AS task
WHERE ($2::uuid IS NULL OR task.id < $2)
    AND EXISTS (SELECT FROM users WHERE id = $1 AND role = 'admin')
ORDER BY task.id DESC
LIMIT $3
