-- Removes tasks that were deleted and of which nothing is left, at most so many (?1).
DELETE FROM tasks
WHERE id IN (
    SELECT id
    FROM tasks
    WHERE deleted_at IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM task_runs WHERE task_runs.task_id = tasks.id)
        AND NOT EXISTS (
            SELECT 1 FROM task_queue WHERE task_queue.task_id = tasks.id AND task_queue.state IN ('ready', 'running')
        )
        AND NOT EXISTS (
            SELECT 1 FROM task_queue WHERE task_queue.task_id = tasks.id AND task_queue.state IN ('waiting', 'blocked')
        )
    ORDER BY deleted_at
    LIMIT ?1
)
