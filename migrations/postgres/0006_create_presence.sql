-- Presence: live connections of people on all nodes, and how each person is seen.

-- A row for each live connection of a person, refreshed by its node every few seconds: not in the WAL, and so empty after a crash; nodes write
-- their rows again. What a refresh changes is in no index, and pages are half empty, so that rows are updated in place (HOT).
CREATE UNLOGGED TABLE gateway_presence (
    connection_id   uuid PRIMARY KEY,
    node_id         uuid NOT NULL,
    user_id         uuid NOT NULL,
    -- Null for a stream without a device.
    device_id       uuid,
    -- The epoch of the device's slot: of several rows of one device the highest counts.
    epoch           bigint,
    device_kind     text NOT NULL CHECK (device_kind IN ('desktop', 'mobile', 'web')),
    idle            boolean NOT NULL,
    focused_room_id uuid,
    connected_at    timestamptz NOT NULL,
    -- When its node last said so.
    updated_at      timestamptz NOT NULL,
    -- The connection is gone because its node is going; it counts until then unless the device comes back before.
    resumable_until timestamptz,
    CHECK ((device_id IS NULL) = (epoch IS NULL))
) WITH (fillfactor = 50);
CREATE INDEX gateway_presence_user ON gateway_presence (user_id);

-- Since when the rows of gateway_presence are looked after without a gap. Emptied together with them, so that who reads knows that
-- rows are missing.
CREATE UNLOGGED TABLE presence_epoch (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    since      timestamptz NOT NULL,
    watched_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- What others see of a person. The version grows with each change, so that old news is told from new; at 0 nothing was ever told.
CREATE TABLE user_presence (
    user_id uuid PRIMARY KEY REFERENCES users,
    status  text NOT NULL CHECK (status IN ('online', 'idle', 'offline')),
    version bigint NOT NULL
) WITH (fillfactor = 70);
-- People who are noted as there: those whose node died are among them.
CREATE INDEX user_presence_seen ON user_presence (user_id) WHERE status <> 'offline';
