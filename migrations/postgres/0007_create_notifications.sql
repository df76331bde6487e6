-- Notifications of people, what they want of them, and pushes to their devices.

CREATE TABLE notifications (
    id           uuid PRIMARY KEY,
    user_id      uuid NOT NULL,
    kind         text NOT NULL
        CHECK (kind IN ('mention', 'direct_message', 'run_finished', 'run_waiting', 'tool_call')),
    room_id      uuid NOT NULL,
    -- Seq in the room of what it is about; 0 when that is no event of the room (a tool call).
    seq          bigint NOT NULL,
    -- The message, the run or the tool call that it is about.
    source_id    uuid NOT NULL,
    -- Whose doing it is.
    sender_kind  text NOT NULL CHECK (sender_kind IN ('user', 'agent', 'system')),
    sender_id    uuid,
    created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    read_at      timestamptz,
    -- The message was deleted, or the tool call is over.
    withdrawn_at timestamptz,
    -- Why it went where it went, first decided then. Later steps are in notification_steps.
    decision     text,
    decided_at   timestamptz
) WITH (fillfactor = 80);
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
    notification_id uuid PRIMARY KEY REFERENCES notifications ON DELETE CASCADE,
    user_id         uuid NOT NULL,
    -- When a worker is to look at it. A worker that has it moves it to the end of its lease.
    due_at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When the push is due that waits; null until it was decided that it does.
    push_at         timestamptz,
    -- Fresh with each claim: what a worker decides counts under it alone.
    claim           uuid
) WITH (fillfactor = 50);
CREATE INDEX notification_queue_due ON notification_queue (due_at);
CREATE INDEX notification_queue_waiting ON notification_queue (user_id) WHERE push_at IS NOT NULL OR claim IS NOT NULL;

-- What became of a notification, step by step.
CREATE TABLE notification_steps (
    notification_id uuid NOT NULL REFERENCES notifications ON DELETE CASCADE,
    at              timestamptz NOT NULL DEFAULT clock_timestamp(),
    step            text NOT NULL,
    reason          text,
    node_id         uuid,
    -- The device, or the connection that named none.
    device_id       uuid,
    detail          text
);
CREATE INDEX notification_steps_of ON notification_steps (notification_id, at);
-- One hint for a notification and a screen, whichever node gives it.
CREATE UNIQUE INDEX notification_steps_hint ON notification_steps (notification_id, device_id) WHERE step = 'hinted';

-- What people want, as JSON: releases may add to it.
CREATE TABLE notification_preferences (
    user_id     uuid PRIMARY KEY REFERENCES users,
    preferences json NOT NULL
);

-- Where pushes to a device go, and when a worker is to look at it: the queue of pushes is by device, so that each gets them in order.
CREATE TABLE push_subscriptions (
    device_id  uuid PRIMARY KEY REFERENCES devices ON DELETE CASCADE,
    user_id    uuid NOT NULL,
    -- The sign-in that named it last: when that ends, nothing more is pushed.
    session_id uuid NOT NULL,
    driver     text NOT NULL CHECK (driver IN ('web_push', 'webhook')),
    -- The endpoint's URL, or what the relay knows the device by. A secret.
    address    text NOT NULL,
    -- Keys of the receiver (RFC 8291), base64url; null with the relay.
    p256dh     text,
    auth       text,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When a worker is to look: infinity when nothing waits. A worker that has it moves it to the end of its lease.
    next_at    timestamptz NOT NULL DEFAULT 'infinity',
    -- Not before: the push service asked for time, or does not answer.
    not_before timestamptz NOT NULL DEFAULT '-infinity',
    claim      uuid,
    claimed_at timestamptz,
    -- Its owner asked for a push to try it.
    test_at    timestamptz,
    -- Sends that failed since the last that did not.
    failures   integer NOT NULL DEFAULT 0,
    -- What the last send came to, for people to see.
    last_at    timestamptz,
    last_result text,
    CHECK ((driver = 'web_push') = (p256dh IS NOT NULL AND auth IS NOT NULL))
) WITH (fillfactor = 60);
-- An address belongs to the device that named it last: somebody else signed in there.
CREATE UNIQUE INDEX push_subscriptions_address ON push_subscriptions (md5(address));
CREATE INDEX push_subscriptions_session ON push_subscriptions (session_id);
CREATE INDEX push_subscriptions_user ON push_subscriptions (user_id);
CREATE INDEX push_subscriptions_next ON push_subscriptions (next_at);

-- Pushes that wait: gone when they are sent or dropped.
CREATE TABLE push_deliveries (
    device_id       uuid NOT NULL REFERENCES push_subscriptions ON DELETE CASCADE,
    notification_id uuid NOT NULL REFERENCES notifications ON DELETE CASCADE,
    room_id         uuid NOT NULL,
    reason          text NOT NULL,
    attempts        integer NOT NULL DEFAULT 0,
    PRIMARY KEY (device_id, notification_id)
) WITH (fillfactor = 80);
-- Hashed: it must not offer itself for the order of a device's pushes, which the primary key has.
CREATE INDEX push_deliveries_notification ON push_deliveries USING hash (notification_id);

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
    coalesce(members.muted, false) AS muted,
    rooms.kind AS room_kind,
    rooms.name AS room_name,
    coalesce(people.display_name, agents.display_name) AS sender_name,
    -- Enough for a screen; the rest is in the log.
    CASE WHEN members.member_id IS NOT NULL THEN left(coalesce(edited.body, said.body), 1000) END AS body,
    runs.status AS run_status,
    tool_calls.tool
FROM notifications
JOIN users ON users.id = notifications.user_id
JOIN rooms ON rooms.id = notifications.room_id
LEFT JOIN members ON members.room_id = notifications.room_id AND members.member_id = notifications.user_id
LEFT JOIN users AS people ON people.id = notifications.sender_id
LEFT JOIN agents ON agents.id = notifications.sender_id
LEFT JOIN LATERAL (
    SELECT events.data ->> 'body' AS body
    FROM events
    WHERE events.id = notifications.source_id AND notifications.kind IN ('mention', 'direct_message')
    LIMIT 1
) AS said ON true
LEFT JOIN LATERAL (
    SELECT events.data ->> 'body' AS body
    FROM events
    WHERE events.kind = 'message.edited' AND events.data ->> 'event_id' = notifications.source_id::text
        AND events.stream_id = notifications.room_id AND notifications.kind IN ('mention', 'direct_message')
    ORDER BY events.seq DESC
    LIMIT 1
) AS edited ON true
LEFT JOIN runs ON runs.id = notifications.source_id AND notifications.kind = 'run_finished'
LEFT JOIN tool_calls
    ON tool_calls.id = notifications.source_id AND notifications.kind IN ('run_waiting', 'tool_call');
