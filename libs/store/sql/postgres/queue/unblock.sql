-- Makes the next blocked run of each of these tasks ready, if no run of the task is ready or running. Mostly none is blocked of any task: then it is one
-- look, not one for each. In the order of an index that has nothing else, or a plan could read the queue to find nothing.
-- $1 tasks
WITH next AS MATERIALIZED (
    SELECT found.*
    FROM (
        SELECT DISTINCT task_id
        FROM unnest($1::uuid[]) AS given (task_id)
        WHERE (SELECT due_at FROM task_queue WHERE stage = 1 AND cost > 0 ORDER BY due_at LIMIT 1) IS NOT NULL
    ) AS asked
    CROSS JOIN LATERAL (
        SELECT queue.ctid AS place, queue.id, queue.owner_id, queue.cost
        FROM task_queue AS queue
        WHERE queue.task_id = asked.task_id AND queue.stage = 1
            AND NOT EXISTS (
                SELECT
                FROM task_queue AS active
                WHERE active.task_id = asked.task_id AND active.stage = 2
            )
        ORDER BY queue.due_at, queue.id
        LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS found
),
flows AS MATERIALIZED (
    SELECT flow.owner_id, flow.cost, greatest(line.last_value, newest.turn) AS turn
    FROM (SELECT DISTINCT owner_id, cost FROM next) AS flow
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
        next.id,
        flows.turn + next.cost * row_number() OVER (PARTITION BY next.owner_id, next.cost ORDER BY next.id) AS turn
    FROM next
    JOIN flows ON flows.owner_id = next.owner_id AND flows.cost = next.cost
)
UPDATE task_queue AS queue
SET state = 'ready', turn = placed.turn
FROM placed
WHERE queue.ctid = ANY(ARRAY(SELECT place FROM next)) AND queue.id = placed.id
RETURNING queue.id
