-- Gives a session that is good the runs that are next in line: running, under a new number. No column that it changes is in an index or asked for
-- by one: it writes none (HOT). So runs that are under way stay in the index of the line, and are stepped over.
-- Materialised, or a plan that repeats the sub-select would lock more than the limit. Updated by their places, which are locked: no plan can look for
-- them in another way.
-- The limit is hidden from the planner: where it is near to what the planner believes is ready, all of that would be read and sorted each time.
-- What is not running is hardly less than all, for the planner too: of few that are `ready` it would sort all.
-- The line remembers how far it has come (setval), so that who comes new does not come before those who wait.
-- $1 session, $2 limit, $3 turn to look from
WITH me AS MATERIALIZED (
    SELECT id
    FROM task_workers
    WHERE id = $1 AND lease_until > clock_timestamp()
        AND NOT EXISTS (SELECT FROM cluster_switches WHERE name = 'scheduler' AND NOT enabled)
    FOR SHARE
),
ready AS MATERIALIZED (
    SELECT ctid AS place
    FROM task_queue
    WHERE stage = 2 AND state <> 'running' AND turn >= 0 AND turn >= (SELECT $3::bigint) AND EXISTS (SELECT FROM me)
    ORDER BY turn, id
    LIMIT (SELECT $2::bigint)
    FOR UPDATE SKIP LOCKED
),
claimed AS (
    UPDATE task_queue AS queue
    SET state = 'running', worker_id = (SELECT id FROM me), epoch = queue.epoch + 1, started_at = clock_timestamp()
    WHERE queue.ctid = ANY(ARRAY(SELECT place FROM ready))
    RETURNING
        queue.id, queue.task_id, queue.owner_id, queue.chain_id, queue.trigger, queue.attempt, queue.epoch, queue.due_at,
        queue.scheduled_for, queue.started_at, queue.turn, queue.cancel_requested_at IS NOT NULL AS cancel_requested,
        queue.delivery_id, queue.input, queue.trace
),
moved AS MATERIALIZED (
    SELECT setval('task_turn', greatest(max(turn), (SELECT last_value FROM task_turn))) AS turn
    FROM claimed
    HAVING count(*) > 0
)
SELECT
    claimed.*, task.name, task.action::text AS action, task.max_runtime_ms, task.webhook_key, task.version, task.schedule,
    task.timezone, task.anchor, task.misfire, task.retries, owner.disabled_at IS NOT NULL AS owner_disabled,
    owner.role = 'admin' AS owner_is_admin
FROM claimed
CROSS JOIN moved
CROSS JOIN LATERAL (
    SELECT name, action, max_runtime_ms, webhook_key, version, schedule, timezone, anchor, misfire, retries
    FROM tasks
    WHERE tasks.id = claimed.task_id
    LIMIT 1
) AS task
CROSS JOIN LATERAL (SELECT disabled_at, role FROM users WHERE users.id = claimed.owner_id LIMIT 1) AS owner
