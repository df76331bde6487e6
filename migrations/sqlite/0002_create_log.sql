-- Streams, rooms and events.

-- Who appends bumps the head and inserts in one transaction; there is one writer, so numbers have no holes.
CREATE TABLE streams (
    id    BLOB PRIMARY KEY,
    kind  TEXT NOT NULL CHECK (kind IN ('room', 'user', 'agent')),
    head  INTEGER NOT NULL DEFAULT 0,
    -- Seq of the newest event that is no longer kept.
    floor INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE rooms (
    id         BLOB PRIMARY KEY REFERENCES streams,
    kind       TEXT NOT NULL CHECK (kind IN ('group', 'dm')),
    name       TEXT,
    -- Both ids of a dm, the lower first: one dm a pair, held by the index.
    dm_pair    TEXT UNIQUE,
    created_by BLOB NOT NULL REFERENCES users,
    created_at INTEGER NOT NULL,
    CHECK ((kind = 'dm') = (dm_pair IS NOT NULL))
) STRICT;

-- A member is a person or an agent.
CREATE TABLE members (
    room_id     BLOB NOT NULL REFERENCES rooms,
    member_id   BLOB NOT NULL,
    member_kind TEXT NOT NULL DEFAULT 'user' CHECK (member_kind IN ('user', 'agent')),
    role        TEXT NOT NULL CHECK (role IN ('owner', 'member')),
    last_read   INTEGER NOT NULL DEFAULT 0,
    muted       INTEGER NOT NULL DEFAULT 0 CHECK (muted IN (0, 1)),
    joined_at   INTEGER NOT NULL,
    PRIMARY KEY (room_id, member_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_member ON members (member_id, room_id);

CREATE TABLE events (
    stream_id    BLOB NOT NULL,
    seq          INTEGER NOT NULL,
    id           BLOB NOT NULL,
    kind         TEXT NOT NULL,
    at           INTEGER NOT NULL,
    sender_kind  TEXT NOT NULL CHECK (sender_kind IN ('user', 'agent', 'system')),
    sender_id    BLOB,
    nonce        TEXT,
    -- Kept as it was written: it goes to sockets unparsed.
    data         TEXT NOT NULL CHECK (json_valid(data)),
    -- W3C traceparent of the call that wrote it.
    trace        TEXT,
    -- The message that an edit is about, to be removed with it.
    about_id     BLOB GENERATED ALWAYS AS (
        CASE WHEN kind = 'message.edited' THEN unhex(data ->> 'event_id', '-') END
    ) VIRTUAL,
    -- The run that was asked for: its input goes with the message.
    asked_run_id BLOB GENERATED ALWAYS AS (
        CASE WHEN kind = 'run.requested' THEN unhex(data ->> 'run_id', '-') END
    ) VIRTUAL,
    PRIMARY KEY (stream_id, seq)
) STRICT;
CREATE UNIQUE INDEX events_id ON events (id);
CREATE UNIQUE INDEX events_nonce ON events (stream_id, sender_id, nonce) WHERE nonce IS NOT NULL;
CREATE INDEX events_about ON events (about_id) WHERE about_id IS NOT NULL;

CREATE TABLE reactions (
    event_id BLOB NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    user_id  BLOB NOT NULL,
    emoji    TEXT NOT NULL,
    PRIMARY KEY (event_id, user_id, emoji)
) STRICT, WITHOUT ROWID;
