-- People, their sign-ins, devices and slots.
--
-- In all tables: ids are BLOBs of 16 bytes, which sort as they were made; times are microseconds since 1970; durations are microseconds;
-- booleans are 0 and 1. There are no default times: who writes a row says when, by the one clock of its transaction.

-- One row: which life of the log this is, and which database it was written in.
CREATE TABLE log_state (
    only_row          INTEGER PRIMARY KEY CHECK (only_row = 1),
    log_epoch         BLOB NOT NULL,
    system_identifier TEXT NOT NULL
) STRICT;

CREATE TABLE users (
    id                 BLOB PRIMARY KEY,
    handle             TEXT NOT NULL UNIQUE,
    display_name       TEXT NOT NULL,
    -- Both in lower case, for the search by the beginning of a name: the database lowers no letters but those of English.
    handle_lower       TEXT NOT NULL,
    display_name_lower TEXT NOT NULL,
    role               TEXT NOT NULL CHECK (role IN ('user', 'admin')),
    password_hash      TEXT NOT NULL,
    failed_logins      INTEGER NOT NULL DEFAULT 0,
    locked_until       INTEGER,
    disabled_at        INTEGER,
    created_at         INTEGER NOT NULL
) STRICT;
CREATE INDEX users_handle_prefix ON users (handle_lower);
CREATE INDEX users_display_name_prefix ON users (display_name_lower);

CREATE TABLE devices (
    id         BLOB PRIMARY KEY,
    user_id    BLOB NOT NULL REFERENCES users,
    kind       TEXT NOT NULL CHECK (kind IN ('desktop', 'mobile', 'web')),
    name       TEXT NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX devices_user ON devices (user_id, id);

-- Who holds a device's connection. Apart from devices: it is written at every identify.
CREATE TABLE device_slots (
    device_id     BLOB PRIMARY KEY REFERENCES devices ON DELETE CASCADE,
    user_id       BLOB NOT NULL,
    session_id    BLOB NOT NULL UNIQUE,
    connection_id BLOB NOT NULL,
    node_id       BLOB NOT NULL,
    epoch         INTEGER NOT NULL,
    taken_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE auth_sessions (
    id         BLOB PRIMARY KEY,
    user_id    BLOB NOT NULL REFERENCES users,
    device_id  BLOB REFERENCES devices ON DELETE SET NULL,
    created_at INTEGER NOT NULL,
    -- When its newest refresh token is past its time.
    expires_at INTEGER NOT NULL,
    ended_at   INTEGER
) STRICT;
CREATE INDEX auth_sessions_user ON auth_sessions (user_id) WHERE ended_at IS NULL;
CREATE INDEX auth_sessions_device ON auth_sessions (device_id) WHERE device_id IS NOT NULL;
CREATE INDEX auth_sessions_ended ON auth_sessions (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX auth_sessions_expires ON auth_sessions (expires_at);

-- Used tokens stay until the family goes: a second use must be told from an unknown token.
CREATE TABLE refresh_tokens (
    hash       BLOB PRIMARY KEY,
    session_id BLOB NOT NULL REFERENCES auth_sessions ON DELETE CASCADE,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX refresh_tokens_session ON refresh_tokens (session_id);

CREATE TABLE tickets (
    hash       BLOB PRIMARY KEY,
    user_id    BLOB NOT NULL,
    session_id BLOB NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tickets_expires ON tickets (expires_at);

-- One row a key: when the bucket will be full again.
CREATE TABLE rate_buckets (
    key     TEXT PRIMARY KEY,
    full_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX rate_buckets_full ON rate_buckets (full_at);

-- What creating calls made, so that they can be repeated.
CREATE TABLE idempotency_keys (
    user_id    BLOB NOT NULL,
    key        TEXT NOT NULL,
    subject    TEXT NOT NULL,
    created_id BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (user_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);

CREATE TABLE nodes (
    id         BLOB PRIMARY KEY,
    role       TEXT NOT NULL,
    name       TEXT NOT NULL,
    version    TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
