-- Runs of a task, the newest first.
-- $1 task, $2 before which (or null), $3 limit
SELECT *
FROM task_run_documents
WHERE task_id = $1 AND ($2::uuid IS NULL OR id < $2)
ORDER BY id DESC
LIMIT $3
