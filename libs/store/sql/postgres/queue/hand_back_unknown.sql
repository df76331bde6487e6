-- Hands back what a session that is good still has, but for the runs that its worker knows of: claims whose answers were lost, or all when it knows of none.
-- They are looked for in the line, up to where it has come. The limit is for the planner.
-- $1 session, $2 runs that are known
WITH me AS MATERIALIZED (
    SELECT id FROM task_workers WHERE id = $1 AND lease_until > clock_timestamp() FOR SHARE
),
unknown AS MATERIALIZED (
    SELECT id, epoch
    FROM task_queue
    WHERE stage = 2 AND turn >= 0 AND turn <= (SELECT last_value FROM task_turn)
        AND worker_id = (SELECT id FROM me) AND id <> ALL($2::uuid[])
    ORDER BY turn, id
    LIMIT (SELECT 1000000000)
)
UPDATE task_queue AS queue
SET state = 'ready', worker_id = NULL, started_at = NULL, turn = (SELECT last_value FROM task_turn)
FROM unknown
WHERE queue.id = unknown.id AND queue.epoch = unknown.epoch AND queue.worker_id = $1
RETURNING queue.id
