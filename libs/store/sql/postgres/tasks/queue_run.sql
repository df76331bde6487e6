-- Queues a run that is asked for: ready, or blocked while another run of the task is. One row: what became of it.
-- The tick that the task waits for is no queued run. A delivery counts only together with its run. When two make a run ready at once, the unique index refuses one, which is repeated.
-- $1 run, $2 task, $3 trigger, $4 delivery (or null), $5 input (or null), $6 most that may wait, $7 trace (or null)
WITH task AS MATERIALIZED (
    SELECT id, owner_id, cost, is_active FROM tasks WHERE id = $2 AND deleted_at IS NULL FOR SHARE
),
judged AS MATERIALIZED (
    SELECT
        task.*,
        $3 <> 'webhook'
            OR is_active AND EXISTS (SELECT FROM users WHERE users.id = task.owner_id AND users.disabled_at IS NULL) AS listens,
        (
            SELECT count(*)
            FROM (
                SELECT
                FROM task_queue
                WHERE task_id = $2 AND stage < 2
                    AND NOT (state = 'waiting' AND trigger = 'schedule' AND attempt = 1)
                LIMIT $6
            ) AS parked
        ) + (SELECT count(*) FROM task_queue WHERE task_id = $2 AND stage = 2 AND worker_id IS NULL) < $6 AS has_room,
        EXISTS (SELECT FROM task_queue WHERE task_id = $2 AND stage = 2) AS busy
    FROM task
),
delivered AS (
    INSERT INTO task_deliveries (task_id, delivery_id, run_id)
    SELECT id, $4, $1 FROM judged WHERE $4::text IS NOT NULL AND listens AND has_room
    ON CONFLICT DO NOTHING
    RETURNING run_id
),
queued AS (
    INSERT INTO task_queue (
        id, task_id, owner_id, chain_id, state, trigger, cost, turn, due_at, scheduled_for, delivery_id, input,
        trace
    )
    SELECT
        $1, judged.id, judged.owner_id, $1, CASE WHEN busy THEN 'blocked' ELSE 'ready' END, $3, judged.cost,
        CASE WHEN busy THEN 0 ELSE greatest(line.last_value, newest.turn) + judged.cost END, clock_timestamp(),
        clock_timestamp(), $4, $5, $7
    FROM judged
    CROSS JOIN task_turn AS line
    LEFT JOIN LATERAL (
        SELECT queue.turn
        FROM task_queue AS queue
        WHERE queue.owner_id = judged.owner_id AND queue.cost = judged.cost AND queue.stage = 2 AND queue.cost > 0
            AND queue.turn > line.last_value
        ORDER BY queue.turn DESC
        LIMIT 1
    ) AS newest ON true
    WHERE listens AND has_room AND ($4::text IS NULL OR EXISTS (SELECT FROM delivered))
    RETURNING state
)
SELECT judged.listens, judged.has_room, queued.state
FROM judged
LEFT JOIN queued ON true
