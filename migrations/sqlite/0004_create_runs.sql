-- Runs of agents with their live boxes, calls of browser tools, questions for completions.

CREATE TABLE runs (
    id                  BLOB PRIMARY KEY,
    room_id             BLOB NOT NULL REFERENCES rooms,
    agent_id            BLOB NOT NULL REFERENCES agents,
    requester_kind      TEXT NOT NULL CHECK (requester_kind IN ('user', 'agent')),
    requester_id        BLOB NOT NULL,
    -- The message that mentions the agent, or the key of the call: makes asking twice the same run.
    cause               TEXT,
    -- JSON as it was given; null when the message was deleted.
    input               TEXT NOT NULL CHECK (json_valid(input)),
    -- The message that asked for it, if one did.
    message_id          BLOB,
    -- Runs before this one in the chain of agents that answer agents.
    hops                INTEGER NOT NULL,
    status              TEXT NOT NULL
        CHECK (status IN ('queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled', 'expired')),
    reason              TEXT,
    -- Told to the person in words, when it failed.
    error               TEXT,
    -- Number of the execution: who has a lower one may write no more.
    epoch               INTEGER NOT NULL DEFAULT 0,
    attempts            INTEGER NOT NULL DEFAULT 0,
    version             INTEGER NOT NULL DEFAULT 0,
    -- The document as of doc_version; what came since lies in run_patches.
    doc                 TEXT NOT NULL DEFAULT '{"items":[]}',
    doc_version         INTEGER NOT NULL DEFAULT 0,
    holder_session_id   BLOB,
    lease_until         INTEGER,
    -- Since when the agent may start it.
    offered_at          INTEGER,
    cancel_requested_at INTEGER,
    created_at          INTEGER NOT NULL,
    started_at          INTEGER,
    finished_at         INTEGER
) STRICT;
CREATE UNIQUE INDEX runs_cause ON runs (agent_id, requester_id, cause) WHERE cause IS NOT NULL;
-- The indexes below hold only runs that are not over: small whatever the history.
-- Runs that take a place of their agent: offered, or worked on.
CREATE INDEX runs_placed ON runs (agent_id)
    WHERE offered_at IS NOT NULL AND status IN ('queued', 'running', 'waiting');
-- Runs that wait for a place, in their order.
CREATE INDEX runs_next ON runs (agent_id, created_at, id) WHERE offered_at IS NULL AND status = 'queued';
CREATE INDEX runs_room_open ON runs (room_id) WHERE status IN ('queued', 'running', 'waiting');
CREATE INDEX runs_holder ON runs (holder_session_id) WHERE status IN ('running', 'waiting');
-- What a rescue looks for, each in its order.
CREATE INDEX runs_lease ON runs (lease_until, id) WHERE status IN ('running', 'waiting');
CREATE INDEX runs_started ON runs (started_at, id) WHERE status IN ('running', 'waiting');
CREATE INDEX runs_cancel ON runs (cancel_requested_at, id)
    WHERE cancel_requested_at IS NOT NULL AND status IN ('running', 'waiting');
CREATE INDEX runs_queued ON runs (coalesce(offered_at, created_at), id) WHERE status = 'queued';
CREATE INDEX runs_room ON runs (room_id, id);
CREATE INDEX runs_message ON runs (message_id) WHERE message_id IS NOT NULL;
-- What told of a run: its input goes with the message.
CREATE INDEX events_requested ON events (asked_run_id) WHERE asked_run_id IS NOT NULL;
-- The chain that an agent's message belongs to.
CREATE INDEX runs_agent_finished ON runs (agent_id, room_id, finished_at) WHERE finished_at IS NOT NULL;

-- Patches since the last snapshot, and some before it for watchers that are a little behind.
CREATE TABLE run_patches (
    run_id  BLOB NOT NULL,
    version INTEGER NOT NULL,
    epoch   INTEGER NOT NULL,
    ops     TEXT NOT NULL,
    PRIMARY KEY (run_id, version)
) STRICT;

-- A run as it is read: with the patches that follow on its snapshot without a hole (JSON arrays, of numbers and of texts), and until when
-- its agent is connected, which who reads compares with the time.
CREATE VIEW run_documents AS
SELECT
    runs.id, runs.room_id, runs.agent_id, runs.requester_kind, runs.requester_id, runs.input,
    runs.hops, runs.status, runs.reason, runs.error, runs.epoch, runs.attempts, runs.version,
    runs.doc, runs.doc_version, runs.holder_session_id,
    runs.cancel_requested_at IS NOT NULL AS cancel_requested,
    runs.created_at, runs.started_at, runs.finished_at,
    (
        SELECT max(consumer.live_until)
        FROM agent_consumer_cursors AS consumer
        WHERE consumer.agent_id = runs.agent_id
    ) AS agent_live_until,
    (
        SELECT json_group_array(patch.version ORDER BY patch.version)
        FROM (
            SELECT version, row_number() OVER (ORDER BY version) AS nth
            FROM run_patches
            WHERE run_patches.run_id = runs.id AND run_patches.version > runs.doc_version
        ) AS patch
        WHERE patch.version = runs.doc_version + patch.nth
    ) AS versions,
    (
        SELECT json_group_array(patch.ops ORDER BY patch.version)
        FROM (
            SELECT version, run_patches.ops, row_number() OVER (ORDER BY version) AS nth
            FROM run_patches
            WHERE run_patches.run_id = runs.id AND run_patches.version > runs.doc_version
        ) AS patch
        WHERE patch.version = runs.doc_version + patch.nth
    ) AS ops
FROM runs;

CREATE TABLE tool_calls (
    id          BLOB PRIMARY KEY,
    run_id      BLOB NOT NULL REFERENCES runs,
    -- The execution that called. A later one begins anew, also with its nonces.
    epoch       INTEGER NOT NULL,
    room_id     BLOB NOT NULL,
    agent_id    BLOB NOT NULL,
    user_id     BLOB NOT NULL REFERENCES users,
    nonce       TEXT,
    tool        TEXT NOT NULL,
    args        TEXT NOT NULL CHECK (json_valid(args)),
    status      TEXT NOT NULL CHECK (status IN ('pending', 'answered', 'expired', 'cancelled')),
    deadline    INTEGER NOT NULL,
    result      TEXT CHECK (json_valid(result)),
    error       TEXT,
    created_at  INTEGER NOT NULL,
    resolved_at INTEGER
) STRICT;
CREATE UNIQUE INDEX tool_calls_nonce ON tool_calls (run_id, epoch, nonce) WHERE nonce IS NOT NULL;
CREATE INDEX tool_calls_run_pending ON tool_calls (run_id) WHERE status = 'pending';
CREATE INDEX tool_calls_user_pending ON tool_calls (user_id) WHERE status = 'pending';
CREATE INDEX tool_calls_deadline ON tool_calls (deadline, id) WHERE status = 'pending';

-- Questions wait seconds.
CREATE TABLE autocomplete_requests (
    id       BLOB PRIMARY KEY,
    agent_id BLOB NOT NULL,
    room_id  BLOB NOT NULL,
    user_id  BLOB NOT NULL,
    command  TEXT NOT NULL,
    input    TEXT NOT NULL,
    deadline INTEGER NOT NULL,
    choices  TEXT CHECK (json_valid(choices))
) STRICT;
CREATE INDEX autocomplete_requests_deadline ON autocomplete_requests (deadline);
