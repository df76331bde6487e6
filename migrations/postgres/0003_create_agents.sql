-- Agents, their consumers, and one space of names for people and agents.

-- Every handle once, whoever has it: a mention means exactly one.
CREATE TABLE handles (
    handle   text PRIMARY KEY,
    owner_id uuid NOT NULL
);
INSERT INTO handles (handle, owner_id) SELECT handle, id FROM users;

CREATE TABLE agents (
    id           uuid PRIMARY KEY REFERENCES streams,
    owner_id     uuid NOT NULL REFERENCES users,
    handle       text NOT NULL UNIQUE,
    display_name text NOT NULL,
    token_hash   bytea NOT NULL UNIQUE,
    -- Names the token: who signed in with another one is signed out.
    token_id     uuid NOT NULL UNIQUE,
    max_runs     integer NOT NULL CHECK (max_runs > 0),
    created_at   timestamptz NOT NULL DEFAULT now(),
    revoked_at   timestamptz
);
CREATE INDEX agents_owner ON agents (owner_id, id);

-- A named place of an agent: where its stream was read up to, and who holds it. Written at every identify, ack and heartbeat, so what a
-- heartbeat changes is in no index.
CREATE TABLE agent_consumer_cursors (
    id                uuid PRIMARY KEY,
    agent_id          uuid NOT NULL REFERENCES agents,
    name              text NOT NULL,
    cursor            bigint NOT NULL,
    epoch             bigint NOT NULL,
    holder_session_id uuid NOT NULL UNIQUE,
    connection_id     uuid NOT NULL,
    node_id           uuid NOT NULL,
    taken_at          timestamptz NOT NULL DEFAULT now(),
    -- Until when the holder counts as connected, unless its node says so again.
    live_until        timestamptz NOT NULL,
    UNIQUE (agent_id, name)
) WITH (fillfactor = 70);

-- What others see of an agent. The version grows with each change, so that old news is told from new.
CREATE TABLE agent_presence (
    agent_id uuid PRIMARY KEY REFERENCES agents,
    status   text NOT NULL CHECK (status IN ('online', 'busy', 'offline')),
    version  bigint NOT NULL
) WITH (fillfactor = 70);
-- Agents that are noted as connected: those whose node died are among them.
CREATE INDEX agent_presence_seen ON agent_presence (agent_id) WHERE status <> 'offline';
