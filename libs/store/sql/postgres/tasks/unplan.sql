-- Throws away the tick of a task, or the attempts at it, that no worker has begun. What was shown as a run is kept as a cancelled one.
-- $1 task
WITH gone AS (
    DELETE FROM task_queue
    WHERE task_id = $1 AND trigger = 'schedule' AND state <> 'running'
    RETURNING *
),
recorded AS (
    INSERT INTO task_runs (
        id, task_id, chain_id, status, trigger, attempt, epoch, scheduled_for, created_at, delivery_id, error
    )
    SELECT
        id, task_id, chain_id, 'cancelled', trigger, attempt, epoch, scheduled_for, created_at, delivery_id,
        'the task was paused, or given other times'
    FROM gone
    WHERE NOT (state = 'waiting' AND attempt = 1)
)
SELECT state FROM gone
