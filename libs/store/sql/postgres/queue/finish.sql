-- Records runs that are over, each if it is its session's still, and queues what comes after them: the next attempt or, when there is none, the
-- next tick. Of a task that was planned anew meanwhile the tick is the one that the edit planned; of one that is paused or deleted there is none.
-- Tasks are locked before their runs, as edits do it. Who asked for a run to stop has asked for its next attempt too.
-- $1 runs, $2 tasks, $3 sessions, $4 epochs, $5 statuses, $6 errors, $7 outputs, $8 versions of the tasks,
-- $9 next attempts, $10 their pauses in microseconds, $11 next ticks, $12 their times,
-- $13 true: of sessions that are good; false: of sessions that are over
WITH given AS MATERIALIZED (
    SELECT $1::uuid[] AS runs, $2::uuid[] AS tasks, $3::uuid[] AS sessions, $4::bigint[] AS epochs, $5::text[] AS statuses,
        $6::text[] AS errors, $7::text[] AS outputs, $8::bigint[] AS versions, $9::uuid[] AS attempts, $10::bigint[] AS pauses,
        $11::uuid[] AS ticks, $12::timestamptz[] AS times
),
input AS MATERIALIZED (
    SELECT over.*
    FROM given
    CROSS JOIN unnest(runs, tasks, sessions, epochs, statuses, errors, outputs, versions, attempts, pauses, ticks, times)
        AS over (
            id, task_id, session_id, epoch, status, error, output, version, next_attempt, pause, next_tick, next_time
        )
),
holders AS MATERIALIZED (
    SELECT id, node_id
    FROM task_workers
    WHERE id IN (SELECT session_id FROM input) AND (lease_until > clock_timestamp()) = $13
    FOR SHARE
),
kept AS MATERIALIZED (
    SELECT task.*
    FROM (SELECT DISTINCT task_id FROM input WHERE next_attempt IS NOT NULL OR next_tick IS NOT NULL) AS asked
    CROSS JOIN LATERAL (
        SELECT id, planned_by, planned_for, cost, is_active
        FROM tasks
        WHERE id = asked.task_id AND deleted_at IS NULL
        LIMIT 1
        FOR SHARE
    ) AS task
),
gone AS (
    DELETE FROM task_queue AS queue
    USING input, holders
    WHERE queue.id = input.id AND queue.epoch = input.epoch
        AND queue.worker_id IS NOT DISTINCT FROM input.session_id AND holders.id = input.session_id
        AND (SELECT count(*) FROM kept) >= 0
    RETURNING
        queue.id, queue.task_id, queue.owner_id, queue.chain_id, queue.trigger, queue.attempt, queue.epoch,
        queue.scheduled_for, queue.created_at, queue.started_at, queue.delivery_id, queue.input, queue.trace,
        queue.cancel_requested_at, holders.node_id,
        input.status, input.error, input.output, input.version, input.next_attempt, input.pause, input.next_tick,
        input.next_time
),
recorded AS (
    INSERT INTO task_runs (
        id, task_id, chain_id, status, trigger, attempt, epoch, node_id, scheduled_for, created_at, started_at, delivery_id,
        error, output
    )
    SELECT
        id, task_id, chain_id, status, trigger, attempt, epoch, nullif(node_id, '00000000-0000-0000-0000-000000000000'),
        scheduled_for, created_at, started_at, delivery_id, error, output
    FROM gone
),
retried AS (
    INSERT INTO task_queue (
        id, task_id, owner_id, chain_id, state, trigger, cost, attempt, due_at, scheduled_for, delivery_id, input, trace,
        cancel_requested_at
    )
    SELECT
        gone.next_attempt, gone.task_id, gone.owner_id, gone.chain_id, 'waiting', gone.trigger, kept.cost, gone.attempt + 1,
        clock_timestamp() + gone.pause * interval '1 microsecond', gone.scheduled_for, gone.delivery_id, gone.input,
        gone.trace, gone.cancel_requested_at
    FROM gone
    JOIN kept ON kept.id = gone.task_id
    WHERE gone.next_attempt IS NOT NULL
        AND (gone.trigger <> 'schedule' OR (kept.is_active AND kept.planned_by <= gone.version))
),
followed AS (
    INSERT INTO task_queue (id, task_id, owner_id, chain_id, state, trigger, cost, due_at, scheduled_for)
    SELECT id, task_id, owner_id, id, 'waiting', 'schedule', cost, time, time
    FROM (
        SELECT
            gone.next_tick AS id, gone.task_id, gone.owner_id, kept.cost,
            CASE WHEN kept.planned_by <= gone.version THEN gone.next_time ELSE kept.planned_for END AS time
        FROM gone
        JOIN kept ON kept.id = gone.task_id
        WHERE gone.trigger = 'schedule' AND gone.next_tick IS NOT NULL AND kept.is_active
            AND (gone.next_attempt IS NULL OR kept.planned_by > gone.version)
    ) AS tick
    WHERE time IS NOT NULL
)
SELECT id, task_id FROM gone
