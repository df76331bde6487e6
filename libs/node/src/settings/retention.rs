//! Settings of retention, the worker's housekeeping.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Section `retention`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSettings {
    /// How often a worker looks for what is no longer kept.
    #[serde(with = "domain::duration")]
    pub interval: Duration,
    /// Events older than this are removed; 0 keeps them for ever.
    #[serde(with = "domain::duration")]
    pub events_max_age: Duration,
    /// Most events of one stream; 0 keeps all.
    pub events_max_per_stream: u64,
    /// Notifications older than this are removed, with what became of them; 0 keeps them for ever.
    #[serde(with = "domain::duration")]
    pub notifications_max_age: Duration,
    /// Rows that one statement removes.
    pub batch: u32,
    /// A node that was silent for so long is forgotten.
    #[serde(with = "domain::duration")]
    pub nodes_after: Duration,
    /// Sign-ins that ended so long ago are forgotten. Longer than an access token lives.
    #[serde(with = "domain::duration")]
    pub sessions_after: Duration,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(60),
            events_max_age: Duration::ZERO,
            events_max_per_stream: 0,
            notifications_max_age: Duration::from_secs(90 * 24 * 3600),
            batch: 1000,
            nodes_after: Duration::from_secs(60),
            sessions_after: Duration::from_secs(24 * 3600),
        }
    }
}
