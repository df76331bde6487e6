-- A claim changes no column that an index has or asks for, so that it writes no index at all (a HOT update): what the indexes ask for is no longer
-- `state` but the stage, which is the same for a run that is ready and one that is running.
--
-- Beside the release before this one: `state` and `worker_id` say what they said, and are written as they were; its statements hold what they held.
-- They ask by `state`, so they find no index and read the queue instead: its workers claim slower until they are replaced, and are never wrong.
-- The table is written anew under its lock: it has only what is not over.

-- Where there is no index, nothing is indexed twice.
DROP INDEX task_queue_active, task_queue_parked, task_queue_due, task_queue_ready, task_queue_flow, task_queue_running;

-- What keeps the queue from being small is put back below, or it would be packed into a few pages.
DELETE FROM task_queue WHERE scheduled_for = 'infinity' AND due_at = 'infinity';
-- Half of a page is left for what a claim writes: it must lie in the page of the row it takes the place of.
ALTER TABLE task_queue SET (fillfactor = 50);
ALTER TABLE task_queue
    -- 0 waiting, 1 blocked, 2 ready or running.
    ADD COLUMN stage smallint NOT NULL
    GENERATED ALWAYS AS (CASE state WHEN 'waiting' THEN 0 WHEN 'blocked' THEN 1 ELSE 2 END) STORED;
ALTER TABLE task_queue SET (fillfactor = 10);
INSERT INTO task_queue (id, task_id, owner_id, chain_id, state, trigger, cost, due_at, scheduled_for)
SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'waiting', 'manual', 1, 'infinity', 'infinity'
FROM generate_series(1, 1000);
ALTER TABLE task_queue SET (fillfactor = 50);

-- One run of a task at a time; the others are blocked.
CREATE UNIQUE INDEX task_queue_active ON task_queue (task_id) WHERE stage = 2;
CREATE INDEX task_queue_parked ON task_queue (task_id, due_at, id) WHERE stage < 2;
CREATE INDEX task_queue_due ON task_queue (due_at, id) WHERE stage = 0;
-- The line. Who looks for runs that are under way looks here, too: they are not behind `task_turn`.
-- These three are for nobody but who says what is always so: empty, each seems as good as one that has the task.
CREATE INDEX task_queue_line ON task_queue (turn, id) WHERE stage = 2 AND turn >= 0;
CREATE INDEX task_queue_flow ON task_queue (owner_id, cost, turn) WHERE stage = 2 AND cost > 0;
-- Whether any run is blocked at all.
CREATE INDEX task_queue_blocked ON task_queue (due_at) WHERE stage = 1 AND cost > 0;

-- By the index of those that are ready or running.
CREATE OR REPLACE VIEW task_documents AS
SELECT
    tasks.*,
    tick.state AS tick_state, tick.due_at AS tick_due_at,
    greatest(
        (SELECT max(queue.started_at) FROM task_queue AS queue WHERE queue.task_id = tasks.id AND queue.stage = 2),
        (
            SELECT newest.started_at
            FROM task_runs AS newest
            WHERE newest.task_id = tasks.id AND newest.started_at IS NOT NULL
            ORDER BY newest.id DESC
            LIMIT 1
        )
    ) AS last_run_at,
    tasks.forgotten_runs + (SELECT count(*) FROM task_runs AS kept WHERE kept.task_id = tasks.id) AS run_count
FROM tasks
LEFT JOIN LATERAL (
    SELECT queue.state, queue.due_at
    FROM task_queue AS queue
    WHERE queue.task_id = tasks.id AND queue.trigger = 'schedule'
    LIMIT 1
) AS tick ON true
WHERE tasks.deleted_at IS NULL;
