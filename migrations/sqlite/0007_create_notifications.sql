-- Notifications of people, what they want of them, and pushes to their devices.

CREATE TABLE notifications (
    id           BLOB PRIMARY KEY,
    user_id      BLOB NOT NULL,
    kind         TEXT NOT NULL
        CHECK (kind IN ('mention', 'direct_message', 'run_finished', 'run_waiting', 'tool_call')),
    room_id      BLOB NOT NULL,
    -- Seq in the room of what it is about; 0 when that is no event of the room (a tool call).
    seq          INTEGER NOT NULL,
    -- The message, the run or the tool call that it is about.
    source_id    BLOB NOT NULL,
    -- Whose doing it is.
    sender_kind  TEXT NOT NULL CHECK (sender_kind IN ('user', 'agent', 'system')),
    sender_id    BLOB,
    created_at   INTEGER NOT NULL,
    read_at      INTEGER,
    -- The message was deleted, or the tool call is over.
    withdrawn_at INTEGER,
    -- Why it went where it went, first decided then. Later steps are in notification_steps.
    decision     TEXT,
    decided_at   INTEGER
) STRICT;
-- One notification for one person and one thing, whatever makes it and how often.
CREATE UNIQUE INDEX notifications_once ON notifications (user_id, source_id);
CREATE INDEX notifications_user ON notifications (user_id, id);
CREATE INDEX notifications_unread ON notifications (user_id, room_id, seq)
    WHERE read_at IS NULL AND withdrawn_at IS NULL;
CREATE INDEX notifications_source ON notifications (source_id) WHERE withdrawn_at IS NULL;
CREATE INDEX notifications_hinted ON notifications (decided_at) WHERE decision = 'gateway';
CREATE INDEX notifications_created ON notifications (created_at);

-- What is to be decided, or decided again: one row a notification until nothing more can become of it but its pushes.
CREATE TABLE notification_queue (
    notification_id BLOB PRIMARY KEY REFERENCES notifications ON DELETE CASCADE,
    user_id         BLOB NOT NULL,
    -- When a worker is to look at it. A worker that has it moves it to the end of its lease.
    due_at          INTEGER NOT NULL,
    -- When the push is due that waits; null until it was decided that it does.
    push_at         INTEGER,
    -- Fresh with each claim: what a worker decides counts under it alone.
    claim           BLOB
) STRICT, WITHOUT ROWID;
CREATE INDEX notification_queue_due ON notification_queue (due_at);
CREATE INDEX notification_queue_waiting ON notification_queue (user_id) WHERE push_at IS NOT NULL OR claim IS NOT NULL;

-- What became of a notification, step by step.
CREATE TABLE notification_steps (
    notification_id BLOB NOT NULL REFERENCES notifications ON DELETE CASCADE,
    at              INTEGER NOT NULL,
    step            TEXT NOT NULL,
    reason          TEXT,
    node_id         BLOB,
    -- The device, or the connection that named none.
    device_id       BLOB,
    detail          TEXT
) STRICT;
CREATE INDEX notification_steps_of ON notification_steps (notification_id, at);
-- One hint for a notification and a screen, whoever gives it.
CREATE UNIQUE INDEX notification_steps_hint ON notification_steps (notification_id, device_id) WHERE step = 'hinted';

-- What people want, as JSON: releases may add to it.
CREATE TABLE notification_preferences (
    user_id     BLOB PRIMARY KEY REFERENCES users,
    preferences TEXT NOT NULL CHECK (json_valid(preferences))
) STRICT;

-- Where pushes to a device go, and when a worker is to look at it: the queue of pushes is by device, so that each gets them in order.
CREATE TABLE push_subscriptions (
    device_id   BLOB PRIMARY KEY REFERENCES devices ON DELETE CASCADE,
    user_id     BLOB NOT NULL,
    -- The sign-in that named it last: when that ends, nothing more is pushed.
    session_id  BLOB NOT NULL,
    driver      TEXT NOT NULL CHECK (driver IN ('web_push', 'webhook')),
    -- The endpoint's URL, or what the relay knows the device by. A secret.
    address     TEXT NOT NULL,
    -- Keys of the receiver (RFC 8291), base64url; null with the relay.
    p256dh      TEXT,
    auth        TEXT,
    created_at  INTEGER NOT NULL,
    -- When a worker is to look: the end of time (10^18) when nothing waits. A worker that has it moves it to the end of its lease.
    next_at     INTEGER NOT NULL DEFAULT 1000000000000000000,
    -- Not before: the push service asked for time, or does not answer.
    not_before  INTEGER NOT NULL DEFAULT -1000000000000000000,
    claim       BLOB,
    claimed_at  INTEGER,
    -- Its owner asked for a push to try it.
    test_at     INTEGER,
    -- Sends that failed since the last that did not.
    failures    INTEGER NOT NULL DEFAULT 0,
    -- What the last send came to, for people to see.
    last_at     INTEGER,
    last_result TEXT,
    CHECK ((driver = 'web_push') = (p256dh IS NOT NULL AND auth IS NOT NULL))
) STRICT;
-- An address belongs to the device that named it last: somebody else signed in there.
CREATE UNIQUE INDEX push_subscriptions_address ON push_subscriptions (address);
CREATE INDEX push_subscriptions_session ON push_subscriptions (session_id);
CREATE INDEX push_subscriptions_user ON push_subscriptions (user_id);
CREATE INDEX push_subscriptions_next ON push_subscriptions (next_at);

-- Pushes that wait: gone when they are sent or dropped.
CREATE TABLE push_deliveries (
    device_id       BLOB NOT NULL REFERENCES push_subscriptions ON DELETE CASCADE,
    notification_id BLOB NOT NULL REFERENCES notifications ON DELETE CASCADE,
    room_id         BLOB NOT NULL,
    reason          TEXT NOT NULL,
    attempts        INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (device_id, notification_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX push_deliveries_notification ON push_deliveries (notification_id);

-- A notification with all that is to be known to decide on it and to show it, as things stand now.
CREATE VIEW notification_facts AS
SELECT
    notifications.id, notifications.user_id, notifications.kind, notifications.room_id, notifications.seq,
    notifications.source_id, notifications.sender_kind, notifications.sender_id, notifications.created_at,
    notifications.decision, notifications.decided_at,
    notifications.read_at IS NOT NULL AS read,
    notifications.withdrawn_at IS NOT NULL AS withdrawn,
    users.disabled_at IS NOT NULL AS disabled,
    members.member_id IS NULL AS left_room,
    coalesce(members.muted, 0) AS muted,
    rooms.kind AS room_kind,
    rooms.name AS room_name,
    coalesce(people.display_name, agents.display_name) AS sender_name,
    -- Enough for a screen; the rest is in the log.
    CASE
        WHEN members.member_id IS NOT NULL AND notifications.kind IN ('mention', 'direct_message')
        THEN substr(
            coalesce(
                (
                    SELECT edit.data ->> 'body'
                    FROM events AS edit
                    -- By the message: the sign keeps the planner from going through all that was said in the room, in its order.
                    WHERE edit.about_id = notifications.source_id AND +edit.stream_id = notifications.room_id
                    ORDER BY edit.seq DESC
                    LIMIT 1
                ),
                (SELECT said.data ->> 'body' FROM events AS said WHERE said.id = notifications.source_id)
            ),
            1,
            1000
        )
    END AS body,
    runs.status AS run_status,
    tool_calls.tool
FROM notifications
JOIN users ON users.id = notifications.user_id
JOIN rooms ON rooms.id = notifications.room_id
LEFT JOIN members ON members.room_id = notifications.room_id AND members.member_id = notifications.user_id
LEFT JOIN users AS people ON people.id = notifications.sender_id
LEFT JOIN agents ON agents.id = notifications.sender_id
LEFT JOIN runs ON runs.id = notifications.source_id AND notifications.kind = 'run_finished'
LEFT JOIN tool_calls
    ON tool_calls.id = notifications.source_id AND notifications.kind IN ('run_waiting', 'tool_call');
