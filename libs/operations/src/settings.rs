//! Settings of messages, of agents and of the write path.

use serde::{Deserialize, Serialize};

/// Section `messages`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct MessageSettings {
    /// Longest body of a message, in bytes of UTF-8.
    pub max_body_bytes: usize,
}

impl Default for MessageSettings {
    fn default() -> Self {
        Self { max_body_bytes: 16 * 1024 }
    }
}

/// Section `agents`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsSettings {
    /// Runs that an agent is given at one time, unless its owner says otherwise.
    pub max_runs: u32,
}

impl Default for AgentsSettings {
    fn default() -> Self {
        Self { max_runs: 4 }
    }
}

/// Section `append`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AppendSettings {
    /// Sends that may wait for the combiner; who comes then waits for room.
    pub queue: usize,
    /// Most sends of one statement.
    pub max_batch: usize,
}

impl Default for AppendSettings {
    fn default() -> Self {
        Self { queue: 4096, max_batch: 256 }
    }
}
