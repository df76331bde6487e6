-- Presence: live connections of people, and how each person is seen.

-- A row for each live connection of a person, refreshed every few seconds. What a refresh changes is in no index.
CREATE TABLE gateway_presence (
    connection_id   BLOB PRIMARY KEY,
    node_id         BLOB NOT NULL,
    user_id         BLOB NOT NULL,
    -- Null for a stream without a device.
    device_id       BLOB,
    -- The epoch of the device's slot: of several rows of one device the highest counts.
    epoch           INTEGER,
    device_kind     TEXT NOT NULL CHECK (device_kind IN ('desktop', 'mobile', 'web')),
    idle            INTEGER NOT NULL CHECK (idle IN (0, 1)),
    focused_room_id BLOB,
    connected_at    INTEGER NOT NULL,
    -- When its node last said so.
    updated_at      INTEGER NOT NULL,
    -- The connection is gone because its node is going; it counts until then unless the device comes back before.
    resumable_until INTEGER,
    CHECK ((device_id IS NULL) = (epoch IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX gateway_presence_user ON gateway_presence (user_id);

-- One row: since when the rows of gateway_presence are looked after without a gap.
CREATE TABLE presence_epoch (
    only_row   INTEGER PRIMARY KEY CHECK (only_row = 1),
    since      INTEGER NOT NULL,
    watched_at INTEGER NOT NULL
) STRICT;

-- What others see of a person. The version grows with each change, so that old news is told from new; at 0 nothing was ever told.
CREATE TABLE user_presence (
    user_id BLOB PRIMARY KEY REFERENCES users,
    status  TEXT NOT NULL CHECK (status IN ('online', 'idle', 'offline')),
    version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- People who are noted as there: those whose process died are among them.
CREATE INDEX user_presence_seen ON user_presence (user_id) WHERE status <> 'offline';
