-- Ends a run that no worker has, and queues the tick that follows on it: that of its caller or, when the task was planned anew meanwhile, the one that
-- the edit planned. A tick that nothing has been tried for is no run.
-- $1 run, $2 version of the task, $3 next tick (or null), $4 its time (or null)
WITH kept AS MATERIALIZED (
    SELECT tasks.id, tasks.planned_by, tasks.planned_for, tasks.cost, tasks.is_active
    FROM task_queue AS queue
    JOIN tasks ON tasks.id = queue.task_id
    WHERE queue.id = $1 AND tasks.deleted_at IS NULL
    FOR SHARE OF tasks
),
gone AS (
    DELETE FROM task_queue AS queue
    USING kept
    WHERE queue.id = $1 AND queue.state <> 'running'
        AND NOT (queue.state = 'waiting' AND queue.trigger = 'schedule' AND queue.attempt = 1)
    RETURNING queue.*, kept.planned_by, kept.planned_for, kept.is_active, kept.cost AS now_cost
),
recorded AS (
    INSERT INTO task_runs (
        id, task_id, chain_id, status, trigger, attempt, epoch, scheduled_for, created_at, delivery_id, error
    )
    SELECT
        id, task_id, chain_id, 'cancelled', trigger, attempt, epoch, scheduled_for, created_at, delivery_id,
        'cancelled before it was begun'
    FROM gone
),
followed AS (
    INSERT INTO task_queue (id, task_id, owner_id, chain_id, state, trigger, cost, due_at, scheduled_for)
    SELECT $3, task_id, owner_id, $3, 'waiting', 'schedule', now_cost, time, time
    FROM (SELECT gone.*, CASE WHEN planned_by <= $2 THEN $4::timestamptz ELSE planned_for END AS time FROM gone) AS tick
    WHERE trigger = 'schedule' AND is_active AND $3::uuid IS NOT NULL AND time IS NOT NULL
)
SELECT task_id FROM gone
