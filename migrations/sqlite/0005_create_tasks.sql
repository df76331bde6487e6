-- Tasks: what is done again and again; the runs that are under way; those that are over; the workers that work on them.

CREATE TABLE tasks (
    id             BLOB PRIMARY KEY,
    owner_id       BLOB NOT NULL REFERENCES users,
    name           TEXT NOT NULL,
    -- Null: it runs when its hook is called, or somebody asks.
    schedule       TEXT,
    timezone       TEXT NOT NULL,
    -- What intervals are measured from.
    anchor         INTEGER NOT NULL,
    action         TEXT NOT NULL CHECK (json_valid(action)),
    -- The room that the action is for, if it is for one.
    room_id        BLOB REFERENCES rooms,
    is_active      INTEGER NOT NULL CHECK (is_active IN (0, 1)),
    -- What a run costs in line: the priority, as a number.
    cost           INTEGER NOT NULL CHECK (cost > 0),
    max_runtime_ms INTEGER NOT NULL,
    retries        INTEGER NOT NULL,
    misfire        TEXT NOT NULL CHECK (misfire IN ('skip', 'once')),
    -- Grows with each edit: who computed something from a task says from which version.
    version        INTEGER NOT NULL DEFAULT 1,
    -- The version by which it was last planned anew, and its next tick as that edit saw it: for a worker that finishes a run of an older one.
    planned_by     INTEGER NOT NULL DEFAULT 1,
    planned_for    INTEGER,
    -- SHA-256 of the secret in the hook's address.
    hook_hash      BLOB,
    hook_signature TEXT CHECK (hook_signature IN ('none', 'standard', 'github')),
    -- What the callers of the hook sign with.
    hook_key       BLOB,
    -- What calls to the action's URL are signed with.
    webhook_key    BLOB,
    -- Runs that the history no longer has.
    forgotten_runs INTEGER NOT NULL DEFAULT 0,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL,
    -- Its history goes in small batches, then the row.
    deleted_at     INTEGER
) STRICT;
CREATE UNIQUE INDEX tasks_hook ON tasks (hook_hash) WHERE hook_hash IS NOT NULL;
CREATE INDEX tasks_owner ON tasks (owner_id, id) WHERE deleted_at IS NULL;
CREATE INDEX tasks_room ON tasks (room_id, id) WHERE deleted_at IS NULL AND room_id IS NOT NULL;
CREATE INDEX tasks_deleted ON tasks (deleted_at) WHERE deleted_at IS NOT NULL;

-- Sessions of workers: one row however many runs a worker has, so that a lease is renewed by one write.
CREATE TABLE task_workers (
    id          BLOB PRIMARY KEY,
    node_id     BLOB NOT NULL,
    lease_until INTEGER NOT NULL,
    started_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Whom runs are given to that hang: its lease was never good.
INSERT INTO task_workers (id, node_id, lease_until, started_at)
VALUES (zeroblob(16), zeroblob(16), -1000000000000000000, unixepoch() * 1000000);

-- Runs that are not over, and the next tick of each task that has one. Rows are narrow, written often and gone soon;
-- no foreign keys, each would be looked up for each run.
CREATE TABLE task_queue (
    id                  BLOB PRIMARY KEY,
    task_id             BLOB NOT NULL,
    owner_id            BLOB NOT NULL,
    -- The first attempt at the same thing.
    chain_id            BLOB NOT NULL,
    state               TEXT NOT NULL CHECK (state IN ('waiting', 'blocked', 'ready', 'running')),
    trigger             TEXT NOT NULL CHECK (trigger IN ('schedule', 'webhook', 'manual')),
    -- What it costs in line, by its task's priority.
    cost                INTEGER NOT NULL,
    -- Its place in line, when it is ready.
    turn                INTEGER NOT NULL DEFAULT 0,
    attempt             INTEGER NOT NULL DEFAULT 1,
    epoch               INTEGER NOT NULL DEFAULT 0,
    worker_id           BLOB,
    due_at              INTEGER NOT NULL,
    scheduled_for       INTEGER NOT NULL,
    created_at          INTEGER NOT NULL,
    started_at          INTEGER,
    cancel_requested_at INTEGER,
    delivery_id         TEXT,
    -- What the caller of the hook sent.
    input               BLOB,
    CHECK ((state = 'running') = (worker_id IS NOT NULL))
) STRICT;
-- One run of a task at a time; the others are blocked.
CREATE UNIQUE INDEX task_queue_active ON task_queue (task_id) WHERE state IN ('ready', 'running');
-- One tick of a task at a time, with its attempts.
CREATE UNIQUE INDEX task_queue_tick ON task_queue (task_id) WHERE trigger = 'schedule';
CREATE INDEX task_queue_parked ON task_queue (task_id, due_at, id) WHERE state IN ('waiting', 'blocked');
CREATE INDEX task_queue_due ON task_queue (due_at, id) WHERE state = 'waiting';
CREATE INDEX task_queue_ready ON task_queue (turn, id) WHERE state = 'ready';
CREATE INDEX task_queue_flow ON task_queue (owner_id, cost, turn) WHERE state = 'ready';
CREATE INDEX task_queue_running ON task_queue (worker_id) WHERE worker_id IS NOT NULL;

-- One row: the turn of the newest run that was claimed.
CREATE TABLE task_turn (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    turn     INTEGER NOT NULL CHECK (turn >= 0)
) STRICT;
INSERT INTO task_turn (only_row, turn) VALUES (1, 0);

-- Runs that are over.
CREATE TABLE task_runs (
    id            BLOB PRIMARY KEY,
    task_id       BLOB NOT NULL,
    chain_id      BLOB NOT NULL,
    status        TEXT NOT NULL CHECK (status IN ('succeeded', 'failed', 'timed_out', 'cancelled', 'lost')),
    trigger       TEXT NOT NULL,
    attempt       INTEGER NOT NULL,
    epoch         INTEGER NOT NULL,
    node_id       BLOB,
    scheduled_for INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    started_at    INTEGER,
    finished_at   INTEGER NOT NULL,
    delivery_id   TEXT,
    error         TEXT,
    output        TEXT
) STRICT;
CREATE INDEX task_runs_task ON task_runs (task_id, id);

-- Calls of hooks and keys of "run now" that were taken: a repeated one queues nothing.
CREATE TABLE task_deliveries (
    task_id     BLOB NOT NULL,
    delivery_id TEXT NOT NULL,
    run_id      BLOB NOT NULL,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (task_id, delivery_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_deliveries_created ON task_deliveries (created_at);

-- What is switched for the whole installation at run time. Without a row it is on.
CREATE TABLE cluster_switches (
    name       TEXT PRIMARY KEY,
    enabled    INTEGER NOT NULL CHECK (enabled IN (0, 1)),
    changed_by BLOB,
    changed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A task as it is read, with when it runs next and how often it has.
CREATE VIEW task_documents AS
SELECT
    tasks.*,
    tick.state AS tick_state, tick.due_at AS tick_due_at,
    (
        SELECT max(known.started_at)
        FROM (
            SELECT queue.started_at
            FROM task_queue AS queue
            WHERE queue.task_id = tasks.id AND queue.state IN ('ready', 'running')
            UNION ALL
            SELECT newest.started_at
            FROM (
                SELECT task_runs.started_at
                FROM task_runs
                WHERE task_runs.task_id = tasks.id AND task_runs.started_at IS NOT NULL
                ORDER BY task_runs.id DESC
                LIMIT 1
            ) AS newest
        ) AS known
    ) AS last_run_at,
    tasks.forgotten_runs + (SELECT count(*) FROM task_runs AS kept WHERE kept.task_id = tasks.id) AS run_count
FROM tasks
LEFT JOIN task_queue AS tick ON tick.task_id = tasks.id AND tick.trigger = 'schedule'
WHERE tasks.deleted_at IS NULL;

-- Runs of tasks, over or not, to be looked up by id. The tick that a task waits for is no run yet.
CREATE VIEW task_run_documents AS
SELECT
    queue.id, queue.task_id, queue.state, NULL AS status, queue.trigger, queue.attempt, queue.epoch, worker.node_id,
    worker.lease_until, queue.due_at, queue.scheduled_for, queue.created_at, queue.started_at, NULL AS finished_at,
    queue.delivery_id, NULL AS error, NULL AS output, queue.cancel_requested_at IS NOT NULL AS cancel_requested,
    NOT EXISTS (SELECT 1 FROM cluster_switches WHERE name = 'scheduler' AND NOT enabled) AS enabled
FROM task_queue AS queue
LEFT JOIN task_workers AS worker ON worker.id = queue.worker_id
WHERE NOT (queue.state = 'waiting' AND queue.trigger = 'schedule' AND queue.attempt = 1)
UNION ALL
SELECT
    id, task_id, NULL, status, trigger, attempt, epoch, node_id, NULL, NULL, scheduled_for, created_at, started_at, finished_at,
    delivery_id, error, output, 0, 1
FROM task_runs;
