-- Runs of agents with their live boxes, calls of browser tools, questions for completions.

CREATE TABLE runs (
    id                  uuid PRIMARY KEY,
    room_id             uuid NOT NULL REFERENCES rooms,
    agent_id            uuid NOT NULL REFERENCES agents,
    requester_kind      text NOT NULL CHECK (requester_kind IN ('user', 'agent')),
    requester_id        uuid NOT NULL,
    -- The message that mentions the agent, or the key of the call: makes asking twice the same run.
    cause               text,
    -- JSON as it was given; null when the message was deleted.
    input               json NOT NULL,
    -- The message that asked for it, if one did.
    message_id          uuid,
    -- Runs before this one in the chain of agents that answer agents.
    hops                integer NOT NULL,
    status              text NOT NULL
        CHECK (status IN ('queued', 'running', 'waiting', 'succeeded', 'failed', 'cancelled', 'expired')),
    reason              text,
    -- Told to the person in words, when it failed.
    error               text,
    -- Number of the execution: who has a lower one may write no more.
    epoch               bigint NOT NULL DEFAULT 0,
    attempts            integer NOT NULL DEFAULT 0,
    version             bigint NOT NULL DEFAULT 0,
    -- The document as of doc_version; what came since lies in run_patches.
    doc                 text NOT NULL DEFAULT '{"items":[]}',
    doc_version         bigint NOT NULL DEFAULT 0,
    holder_session_id   uuid,
    lease_until         timestamptz,
    -- Since when the agent may start it.
    offered_at          timestamptz,
    cancel_requested_at timestamptz,
    created_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    started_at          timestamptz,
    finished_at         timestamptz
) WITH (fillfactor = 50);
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
CREATE INDEX runs_queued ON runs ((coalesce(offered_at, created_at)), id) WHERE status = 'queued';
CREATE INDEX runs_room ON runs (room_id, id);
CREATE INDEX runs_message ON runs (message_id) WHERE message_id IS NOT NULL;
-- What told of a run: its input goes with the message.
CREATE INDEX events_requested ON events ((data ->> 'run_id')) WHERE kind = 'run.requested';
-- The chain that an agent's message belongs to.
CREATE INDEX runs_agent_finished ON runs (agent_id, room_id, finished_at) WHERE finished_at IS NOT NULL;

-- Patches since the last snapshot, and some before it for watchers that are a little behind. Empty after a crash of the database: the
-- node of the holder writes a snapshot then.
CREATE UNLOGGED TABLE run_patches (
    run_id  uuid NOT NULL,
    version bigint NOT NULL,
    epoch   bigint NOT NULL,
    ops     text NOT NULL,
    PRIMARY KEY (run_id, version)
);

-- A run as it is read: with the patches that follow on its snapshot without a hole, and whether its agent is connected anywhere.
CREATE VIEW run_documents AS
SELECT
    runs.id, runs.room_id, runs.agent_id, runs.requester_kind, runs.requester_id, runs.input::text AS input,
    runs.hops, runs.status, runs.reason, runs.error, runs.epoch, runs.attempts, runs.version,
    runs.doc, runs.doc_version, runs.holder_session_id,
    runs.cancel_requested_at IS NOT NULL AS cancel_requested,
    runs.created_at, runs.started_at, runs.finished_at,
    EXISTS (
        SELECT
        FROM agent_consumer_cursors AS consumer
        WHERE consumer.agent_id = runs.agent_id AND consumer.live_until > now()
    ) AS agent_live,
    tail.versions, tail.ops
FROM runs
CROSS JOIN LATERAL (
    SELECT
        coalesce(array_agg(patch.version ORDER BY patch.version), '{}') AS versions,
        coalesce(array_agg(patch.ops ORDER BY patch.version), '{}') AS ops
    FROM (
        SELECT version, run_patches.ops, row_number() OVER (ORDER BY version) AS nth
        FROM run_patches
        WHERE run_patches.run_id = runs.id AND run_patches.version > runs.doc_version
    ) AS patch
    WHERE patch.version = runs.doc_version + patch.nth
) AS tail;

CREATE TABLE tool_calls (
    id          uuid PRIMARY KEY,
    run_id      uuid NOT NULL REFERENCES runs,
    -- The execution that called. A later one begins anew, also with its nonces.
    epoch       bigint NOT NULL,
    room_id     uuid NOT NULL,
    agent_id    uuid NOT NULL,
    user_id     uuid NOT NULL REFERENCES users,
    nonce       text,
    tool        text NOT NULL,
    args        json NOT NULL,
    status      text NOT NULL CHECK (status IN ('pending', 'answered', 'expired', 'cancelled')),
    deadline    timestamptz NOT NULL,
    result      json,
    error       text,
    created_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    resolved_at timestamptz
);
CREATE UNIQUE INDEX tool_calls_nonce ON tool_calls (run_id, epoch, nonce) WHERE nonce IS NOT NULL;
CREATE INDEX tool_calls_run_pending ON tool_calls (run_id) WHERE status = 'pending';
CREATE INDEX tool_calls_user_pending ON tool_calls (user_id) WHERE status = 'pending';
CREATE INDEX tool_calls_deadline ON tool_calls (deadline, id) WHERE status = 'pending';

-- Questions wait seconds; after a crash whoever asked asks again.
CREATE UNLOGGED TABLE autocomplete_requests (
    id       uuid PRIMARY KEY,
    agent_id uuid NOT NULL,
    room_id  uuid NOT NULL,
    user_id  uuid NOT NULL,
    command  text NOT NULL,
    input    text NOT NULL,
    deadline timestamptz NOT NULL,
    choices  json
);
CREATE INDEX autocomplete_requests_deadline ON autocomplete_requests (deadline);
