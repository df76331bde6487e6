-- Somebody's tasks, the newest first.
-- $1 owner, $2 before which (or null), $3 limit
SELECT task.*, task.action::text AS action_text
FROM task_documents AS task
WHERE task.owner_id = $1 AND ($2::uuid IS NULL OR task.id < $2)
ORDER BY task.id DESC
LIMIT $3
