-- People, their sign-ins, devices and slots.

-- One row: which life of the log this is, and which database it was written in.
CREATE TABLE log_state (
    only_row          boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    log_epoch         uuid NOT NULL,
    system_identifier text NOT NULL
);

CREATE TABLE users (
    id            uuid PRIMARY KEY,
    handle        text NOT NULL UNIQUE,
    display_name  text NOT NULL,
    role          text NOT NULL CHECK (role IN ('user', 'admin')),
    password_hash text NOT NULL,
    failed_logins integer NOT NULL DEFAULT 0,
    locked_until  timestamptz,
    disabled_at   timestamptz,
    created_at    timestamptz NOT NULL DEFAULT now()
);
-- Search by the beginning of a name.
CREATE INDEX users_handle_prefix ON users (lower(handle) text_pattern_ops);
CREATE INDEX users_display_name_prefix ON users (lower(display_name) text_pattern_ops);

CREATE TABLE devices (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users,
    kind       text NOT NULL CHECK (kind IN ('desktop', 'mobile', 'web')),
    name       text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX devices_user ON devices (user_id, id);

-- Who holds a device's connection. Apart from devices: it is written at every identify.
CREATE TABLE device_slots (
    device_id     uuid PRIMARY KEY REFERENCES devices ON DELETE CASCADE,
    user_id       uuid NOT NULL,
    session_id    uuid NOT NULL UNIQUE,
    connection_id uuid NOT NULL,
    node_id       uuid NOT NULL,
    epoch         bigint NOT NULL,
    taken_at      timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);

CREATE TABLE auth_sessions (
    id         uuid PRIMARY KEY,
    user_id    uuid NOT NULL REFERENCES users,
    device_id  uuid REFERENCES devices ON DELETE SET NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    -- When its newest refresh token is past its time.
    expires_at timestamptz NOT NULL,
    ended_at   timestamptz
);
CREATE INDEX auth_sessions_user ON auth_sessions (user_id) WHERE ended_at IS NULL;
CREATE INDEX auth_sessions_ended ON auth_sessions (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX auth_sessions_expires ON auth_sessions (expires_at);

-- Used tokens stay until the family goes: a second use must be told from an unknown token.
CREATE TABLE refresh_tokens (
    hash       bytea PRIMARY KEY,
    session_id uuid NOT NULL REFERENCES auth_sessions ON DELETE CASCADE,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);
CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);

-- Short-lived and worthless after a crash (clients fetch another): not in the WAL.
CREATE UNLOGGED TABLE tickets (
    hash       bytea PRIMARY KEY,
    user_id    uuid NOT NULL,
    session_id uuid NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE INDEX tickets_expires ON tickets (expires_at);

-- One row a key: when the bucket will be full again. Lost in a crash: buckets are full then.
CREATE UNLOGGED TABLE rate_buckets (
    key     text PRIMARY KEY,
    full_at timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX rate_buckets_full ON rate_buckets (full_at);

-- What creating calls made, so that they can be repeated.
CREATE TABLE idempotency_keys (
    user_id    uuid NOT NULL,
    key        text NOT NULL,
    subject    text NOT NULL,
    created_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (user_id, key)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);

CREATE UNLOGGED TABLE nodes (
    id         uuid PRIMARY KEY,
    role       text NOT NULL,
    name       text NOT NULL,
    version    text NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 50);
