-- Streams, rooms and events.

-- A stream's row lock orders its events: who appends holds it, bumps head and inserts in one transaction.
CREATE TABLE streams (
    id    uuid PRIMARY KEY,
    kind  text NOT NULL CHECK (kind IN ('room', 'user', 'agent')),
    head  bigint NOT NULL DEFAULT 0,
    -- Seq of the newest event that is no longer kept.
    floor bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE rooms (
    id         uuid PRIMARY KEY REFERENCES streams,
    kind       text NOT NULL CHECK (kind IN ('group', 'dm')),
    name       text,
    -- Both ids of a dm, the lower first: one dm a pair, held by the index.
    dm_pair    text UNIQUE,
    created_by uuid NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT now(),
    CHECK ((kind = 'dm') = (dm_pair IS NOT NULL))
);

-- A member is a person, later also an agent.
CREATE TABLE members (
    room_id     uuid NOT NULL REFERENCES rooms,
    member_id   uuid NOT NULL,
    member_kind text NOT NULL DEFAULT 'user' CHECK (member_kind IN ('user', 'agent')),
    role        text NOT NULL CHECK (role IN ('owner', 'member')),
    last_read   bigint NOT NULL DEFAULT 0,
    muted       boolean NOT NULL DEFAULT false,
    joined_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (room_id, member_id)
) WITH (fillfactor = 80);
CREATE INDEX members_member ON members (member_id, room_id);

CREATE TABLE events (
    stream_id   uuid NOT NULL,
    seq         bigint NOT NULL,
    id          uuid NOT NULL,
    kind        text NOT NULL,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    sender_kind text NOT NULL CHECK (sender_kind IN ('user', 'agent', 'system')),
    sender_id   uuid,
    nonce       text,
    -- Kept as it was written: it goes to sockets unparsed.
    data        json NOT NULL,
    -- W3C traceparent of the call that wrote it.
    trace       text,
    PRIMARY KEY (stream_id, seq)
);
CREATE UNIQUE INDEX events_id ON events (id);
CREATE UNIQUE INDEX events_nonce ON events (stream_id, sender_id, nonce) WHERE nonce IS NOT NULL;
-- Retention by age.
CREATE INDEX events_at ON events USING brin (at);
-- What was said about a message (edits), to be removed with it.
CREATE INDEX events_about ON events ((data ->> 'event_id')) WHERE kind = 'message.edited';

CREATE TABLE reactions (
    event_id uuid NOT NULL REFERENCES events (id) ON DELETE CASCADE,
    user_id  uuid NOT NULL,
    emoji    text NOT NULL,
    PRIMARY KEY (event_id, user_id, emoji)
);
