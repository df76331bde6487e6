//! How nodes make up a cluster.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Whether a node has others beside it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClusterMode {
    /// This process is all there is: nobody is notified, nobody is listened to.
    Single,
    /// Other nodes share the database.
    #[default]
    Multi,
}

/// Section `cluster`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterSettings {
    /// `single` or `multi`.
    pub mode: ClusterMode,
    /// What people call this node; empty: role and listen address.
    pub node_name: String,
    /// How often a node writes that it is alive.
    #[serde(with = "domain::duration")]
    pub heartbeat_interval: Duration,
    /// How often a node writes which people are connected to it.
    #[serde(with = "domain::duration")]
    pub presence_flush_interval: Duration,
    /// How long somebody counts as connected of whom their node says nothing.
    #[serde(with = "domain::duration")]
    pub presence_ttl: Duration,
}

impl Default for ClusterSettings {
    fn default() -> Self {
        Self {
            mode: ClusterMode::default(),
            node_name: String::new(),
            heartbeat_interval: Duration::from_secs(5),
            presence_flush_interval: Duration::from_secs(1),
            presence_ttl: Duration::from_secs(15),
        }
    }
}
