-- Agents, their consumers, and one space of names for people and agents.

-- Every handle once, whoever has it: a mention means exactly one.
CREATE TABLE handles (
    handle   TEXT PRIMARY KEY,
    owner_id BLOB NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO handles (handle, owner_id) SELECT handle, id FROM users;

CREATE TABLE agents (
    id           BLOB PRIMARY KEY REFERENCES streams,
    owner_id     BLOB NOT NULL REFERENCES users,
    handle       TEXT NOT NULL UNIQUE,
    display_name TEXT NOT NULL,
    token_hash   BLOB NOT NULL UNIQUE,
    -- Names the token: who signed in with another one is signed out.
    token_id     BLOB NOT NULL UNIQUE,
    max_runs     INTEGER NOT NULL CHECK (max_runs > 0),
    created_at   INTEGER NOT NULL,
    revoked_at   INTEGER
) STRICT;
CREATE INDEX agents_owner ON agents (owner_id, id);

-- A named place of an agent: where its stream was read up to, and who holds it. Written at every identify, ack and heartbeat, so what a
-- heartbeat changes is in no index.
CREATE TABLE agent_consumer_cursors (
    id                BLOB PRIMARY KEY,
    agent_id          BLOB NOT NULL REFERENCES agents,
    name              TEXT NOT NULL,
    cursor            INTEGER NOT NULL,
    epoch             INTEGER NOT NULL,
    holder_session_id BLOB NOT NULL UNIQUE,
    connection_id     BLOB NOT NULL,
    node_id           BLOB NOT NULL,
    taken_at          INTEGER NOT NULL,
    -- Until when the holder counts as connected, unless its node says so again.
    live_until        INTEGER NOT NULL,
    UNIQUE (agent_id, name)
) STRICT;

-- What others see of an agent. The version grows with each change, so that old news is told from new.
CREATE TABLE agent_presence (
    agent_id BLOB PRIMARY KEY REFERENCES agents,
    status   TEXT NOT NULL CHECK (status IN ('online', 'busy', 'offline')),
    version  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Agents that are noted as connected: those whose process died are among them.
CREATE INDEX agent_presence_seen ON agent_presence (agent_id) WHERE status <> 'offline';
