-- Tasks: what is done again and again; the runs that are under way; those that are over; the workers that work on them.

CREATE TABLE tasks (
    id             uuid PRIMARY KEY,
    owner_id       uuid NOT NULL,
    name           text NOT NULL,
    -- Null: it runs when its hook is called, or somebody asks.
    schedule       text,
    timezone       text NOT NULL,
    -- What intervals are measured from.
    anchor         timestamptz NOT NULL,
    action         json NOT NULL,
    -- The room that the action is for, if it is for one.
    room_id        uuid,
    is_active      boolean NOT NULL,
    -- What a run costs in line: the priority, as a number.
    cost           bigint NOT NULL CHECK (cost > 0),
    max_runtime_ms bigint NOT NULL,
    retries        integer NOT NULL,
    misfire        text NOT NULL CHECK (misfire IN ('skip', 'once')),
    -- Grows with each edit: who computed something from a task says from which version.
    version        bigint NOT NULL DEFAULT 1,
    -- The version by which it was last planned anew, and its next tick as that edit saw it: for a worker that finishes a run of an older one.
    planned_by     bigint NOT NULL DEFAULT 1,
    planned_for    timestamptz,
    -- SHA-256 of the secret in the hook's address.
    hook_hash      bytea,
    hook_signature text CHECK (hook_signature IN ('none', 'standard', 'github')),
    -- What the callers of the hook sign with.
    hook_key       bytea,
    -- What calls to the action's URL are signed with.
    webhook_key    bytea,
    -- Runs that the history no longer has.
    forgotten_runs bigint NOT NULL DEFAULT 0,
    created_at     timestamptz NOT NULL DEFAULT now(),
    updated_at     timestamptz NOT NULL DEFAULT now(),
    -- Its history goes in small batches, then the row.
    deleted_at     timestamptz
) WITH (vacuum_truncate = false, fillfactor = 10);
-- Plans that are kept (prepared statements) are made for the size that a table has at that moment. One that is made for a table of a page
-- reads all of it, also when it has grown a thousandfold since, until the database counts again: a minute in which everything stands still.
-- So this table and the queue are never small: some hundred pages are taken here, and never given back. What is looked up by an index in so many is
-- looked up by it in more.
INSERT INTO tasks (id, owner_id, name, timezone, anchor, action, is_active, cost, max_runtime_ms, retries, misfire)
SELECT gen_random_uuid(), gen_random_uuid(), '', '', now(), '{}', false, 1, 0, 0, 'once' FROM generate_series(1, 1000);
DELETE FROM tasks;
ALTER TABLE tasks RESET (fillfactor);
ALTER TABLE tasks ADD FOREIGN KEY (owner_id) REFERENCES users, ADD FOREIGN KEY (room_id) REFERENCES rooms;
CREATE UNIQUE INDEX tasks_hook ON tasks (hook_hash) WHERE hook_hash IS NOT NULL;
CREATE INDEX tasks_owner ON tasks (owner_id, id) WHERE deleted_at IS NULL;
CREATE INDEX tasks_room ON tasks (room_id, id) WHERE deleted_at IS NULL AND room_id IS NOT NULL;
CREATE INDEX tasks_deleted ON tasks (deleted_at) WHERE deleted_at IS NOT NULL;

-- Sessions of workers: one row however many runs a worker has, so that a lease is renewed by one write.
CREATE TABLE task_workers (
    id          uuid PRIMARY KEY,
    node_id     uuid NOT NULL,
    lease_until timestamptz NOT NULL,
    started_at  timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
-- Whom runs are given to that hang: its lease was never good.
INSERT INTO task_workers (id, node_id, lease_until)
VALUES ('00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', '-infinity');

-- Runs that are not over, and the next tick of each task that has one. Rows are narrow, written often and gone soon;
-- no foreign keys, each would be looked up for each run.
CREATE TABLE task_queue (
    id                  uuid PRIMARY KEY,
    task_id             uuid NOT NULL,
    owner_id            uuid NOT NULL,
    -- The first attempt at the same thing.
    chain_id            uuid NOT NULL,
    state               text NOT NULL CHECK (state IN ('waiting', 'blocked', 'ready', 'running')),
    trigger             text NOT NULL CHECK (trigger IN ('schedule', 'webhook', 'manual')),
    -- What it costs in line, by its task's priority.
    cost                bigint NOT NULL,
    -- Its place in line, when it is ready.
    turn                bigint NOT NULL DEFAULT 0,
    attempt             integer NOT NULL DEFAULT 1,
    epoch               bigint NOT NULL DEFAULT 0,
    worker_id           uuid,
    due_at              timestamptz NOT NULL,
    scheduled_for       timestamptz NOT NULL,
    created_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at          timestamptz,
    cancel_requested_at timestamptz,
    delivery_id         text,
    -- What the caller of the hook sent.
    input               bytea,
    CHECK ((state = 'running') = (worker_id IS NOT NULL))
) WITH (
    fillfactor = 10, vacuum_truncate = false, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000,
    autovacuum_analyze_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0
);
-- Nor does it ever look empty, when every index seems as good as any other: these are never due.
INSERT INTO task_queue (id, task_id, owner_id, chain_id, state, trigger, cost, due_at, scheduled_for)
SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'waiting', 'manual', 1, 'infinity', 'infinity'
FROM generate_series(1, 1000);
ALTER TABLE task_queue SET (fillfactor = 90);
-- One run of a task at a time; the others are blocked.
CREATE UNIQUE INDEX task_queue_active ON task_queue (task_id) WHERE state IN ('ready', 'running');
-- One tick of a task at a time, with its attempts.
CREATE UNIQUE INDEX task_queue_tick ON task_queue (task_id) WHERE trigger = 'schedule';
CREATE INDEX task_queue_parked ON task_queue (task_id, due_at, id) WHERE state IN ('waiting', 'blocked');
CREATE INDEX task_queue_due ON task_queue (due_at, id) WHERE state = 'waiting';
-- Not for who looks for the end of a flow, as it would seem to be.
CREATE INDEX task_queue_ready ON task_queue (turn, id) WHERE state = 'ready' AND turn >= 0;
CREATE INDEX task_queue_flow ON task_queue (owner_id, cost, turn) WHERE state = 'ready';
CREATE INDEX task_queue_running ON task_queue (worker_id) WHERE worker_id IS NOT NULL;

-- The turn of the newest run that was claimed. A sequence has no old versions that a claim would have to step over.
CREATE SEQUENCE task_turn MINVALUE 0 START 0;

-- Runs that are over.
CREATE TABLE task_runs (
    id            uuid PRIMARY KEY,
    task_id       uuid NOT NULL,
    chain_id      uuid NOT NULL,
    status        text NOT NULL CHECK (status IN ('succeeded', 'failed', 'timed_out', 'cancelled', 'lost')),
    trigger       text NOT NULL,
    attempt       integer NOT NULL,
    epoch         bigint NOT NULL,
    node_id       uuid,
    scheduled_for timestamptz NOT NULL,
    created_at    timestamptz NOT NULL,
    started_at    timestamptz,
    finished_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    delivery_id   text,
    error         text,
    output        text
);
CREATE INDEX task_runs_task ON task_runs (task_id, id);

-- Calls of hooks and keys of "run now" that were taken: a repeated one queues nothing.
CREATE TABLE task_deliveries (
    task_id     uuid NOT NULL,
    delivery_id text NOT NULL,
    run_id      uuid NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (task_id, delivery_id)
);
CREATE INDEX task_deliveries_created ON task_deliveries (created_at);

-- What is switched for the whole cluster at run time. Without a row it is on.
CREATE TABLE cluster_switches (
    name       text PRIMARY KEY,
    enabled    boolean NOT NULL,
    changed_by uuid,
    changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- A task as it is read, with when it runs next and how often it has.
CREATE VIEW task_documents AS
SELECT
    tasks.*,
    tick.state AS tick_state, tick.due_at AS tick_due_at,
    greatest(
        (
            SELECT max(queue.started_at)
            FROM task_queue AS queue
            WHERE queue.task_id = tasks.id AND queue.state IN ('ready', 'running')
        ),
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

-- Runs of tasks, over or not, to be looked up by id. The tick that a task waits for is no run yet.
CREATE VIEW task_run_documents AS
SELECT
    queue.id, queue.task_id, queue.state, NULL::text AS status, queue.trigger, queue.attempt, queue.epoch, worker.node_id,
    worker.lease_until, queue.due_at, queue.scheduled_for, queue.created_at, queue.started_at, NULL::timestamptz AS finished_at,
    queue.delivery_id, NULL::text AS error, NULL::text AS output, queue.cancel_requested_at IS NOT NULL AS cancel_requested,
    NOT EXISTS (SELECT FROM cluster_switches WHERE name = 'scheduler' AND NOT enabled) AS enabled
FROM task_queue AS queue
LEFT JOIN task_workers AS worker ON worker.id = queue.worker_id
WHERE NOT (queue.state = 'waiting' AND queue.trigger = 'schedule' AND queue.attempt = 1)
UNION ALL
SELECT
    id, task_id, NULL, status, trigger, attempt, epoch, node_id, NULL, NULL, scheduled_for, created_at, started_at, finished_at,
    delivery_id, error, output, false, true
FROM task_runs;
