//! Settings of the relay and of what clients keep in step.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Section `relay`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RelaySettings {
    /// Readers of the log on this node: database reads of the relay never exceed it, however many
    /// streams are active.
    pub shards: usize,
    /// How often the heads of all followed streams are compared with the log: the longest that a lost
    /// notification can delay an event.
    #[serde(with = "domain::duration")]
    pub sweep_interval: Duration,
    /// Connections of this node that may read the log for themselves (replay, catch-up) at one time.
    pub catchups: usize,
    /// Events of a stream that are kept in memory for connections that are only a little behind.
    pub recent: usize,
}

impl Default for RelaySettings {
    fn default() -> Self {
        Self { shards: 4, sweep_interval: Duration::from_secs(5), catchups: 8, recent: 32 }
    }
}

/// Section `sync`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct SyncSettings {
    /// A person's typing in a room is passed on at most this often; more is ignored.
    #[serde(with = "domain::duration")]
    pub typing_min_interval: Duration,
    /// Frames that may wait for a connection before it counts as behind.
    pub outbox_frames: usize,
    /// Bytes that may wait for a connection before it counts as behind.
    pub outbox_bytes: usize,
    /// Events of one page when a connection reads the log for itself.
    pub page: u32,
    /// How long a client has to come back that was sent away because its node stops: until then its person counts as there.
    #[serde(with = "domain::duration")]
    pub resume_window: Duration,
}

impl Default for SyncSettings {
    fn default() -> Self {
        Self {
            typing_min_interval: Duration::from_secs(3),
            outbox_frames: 256,
            outbox_bytes: 256 * 1024,
            page: 200,
            resume_window: Duration::from_secs(60),
        }
    }
}

/// Section `presence`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct PresenceSettings {
    /// People of whom a node says in one flush that they are seen differently; the rest is said with the next.
    pub max_changes_per_flush: u32,
    /// In rooms of more members people are not told of each other.
    pub max_room_members: u32,
}

impl Default for PresenceSettings {
    fn default() -> Self {
        Self { max_changes_per_flush: 1000, max_room_members: 200 }
    }
}
