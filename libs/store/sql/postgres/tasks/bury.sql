-- Removes tasks that were deleted and of which nothing is left.
-- $1 most rows at once
WITH spent AS MATERIALIZED (
    SELECT id
    FROM tasks
    WHERE deleted_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM task_runs WHERE task_runs.task_id = tasks.id)
        AND NOT EXISTS (
            SELECT FROM task_queue WHERE task_queue.task_id = tasks.id AND task_queue.stage = 2
        )
        AND NOT EXISTS (
            SELECT FROM task_queue WHERE task_queue.task_id = tasks.id AND task_queue.stage < 2
        )
    ORDER BY deleted_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
DELETE FROM tasks USING spent WHERE tasks.id = spent.id RETURNING tasks.id
