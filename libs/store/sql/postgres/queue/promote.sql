-- Makes what is due ready, the longest due first: one run of a task, and only when none of it is ready or running; the others are blocked.
-- Ticks that nobody was there for in time are left to queue/late.
-- The limit is hidden from the planner, as in queue/claim.
-- Its turn is that of the run before it in its flow, or of what was claimed last, plus its cost.
-- $1 grace in microseconds, $2 limit
WITH due AS MATERIALIZED (
    SELECT ctid AS place, id, task_id, owner_id, cost, due_at
    FROM task_queue
    WHERE stage = 0 AND due_at <= now()
        AND (trigger <> 'schedule' OR attempt > 1 OR due_at > now() - $1::bigint * interval '1 microsecond')
        AND NOT EXISTS (SELECT FROM cluster_switches WHERE name = 'scheduler' AND NOT enabled)
    ORDER BY due_at, id
    LIMIT (SELECT $2::bigint)
    FOR UPDATE SKIP LOCKED
),
judged AS MATERIALIZED (
    SELECT
        due.*,
        row_number() OVER (PARTITION BY task_id ORDER BY due_at, id) = 1
            AND (
                SELECT active.id
                FROM task_queue AS active
                WHERE active.task_id = due.task_id AND active.stage = 2
                LIMIT 1
            ) IS NULL AS free
    FROM due
),
flows AS MATERIALIZED (
    SELECT flow.owner_id, flow.cost, greatest(line.last_value, newest.turn) AS turn
    FROM (SELECT DISTINCT owner_id, cost FROM judged WHERE free) AS flow
    CROSS JOIN task_turn AS line
    LEFT JOIN LATERAL (
        SELECT queue.turn
        FROM task_queue AS queue
        WHERE queue.owner_id = flow.owner_id AND queue.cost = flow.cost AND queue.stage = 2 AND queue.cost > 0
            AND queue.turn > line.last_value
        ORDER BY queue.turn DESC
        LIMIT 1
    ) AS newest ON true
),
placed AS MATERIALIZED (
    SELECT
        judged.id, judged.free,
        coalesce(
            flows.turn + judged.cost * row_number() OVER (
                PARTITION BY judged.owner_id, judged.cost, judged.free ORDER BY judged.due_at, judged.id
            ),
            0
        ) AS turn
    FROM judged
    LEFT JOIN flows ON judged.free AND flows.owner_id = judged.owner_id AND flows.cost = judged.cost
)
UPDATE task_queue AS queue
SET state = CASE WHEN placed.free THEN 'ready' ELSE 'blocked' END, turn = placed.turn
FROM placed
WHERE queue.ctid = ANY(ARRAY(SELECT place FROM due)) AND queue.id = placed.id
RETURNING queue.task_id, placed.free
