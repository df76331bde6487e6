//! Settings of messages, of agents, of tasks and of the write path.

use std::time::Duration;

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
    /// How long after a commit began the next one waits, at most, for senders who came together lately.
    #[serde(with = "domain::duration")]
    pub max_wait: Duration,
}

impl Default for AppendSettings {
    fn default() -> Self {
        Self { queue: 4096, max_batch: 256, max_wait: Duration::from_millis(5) }
    }
}

/// Section `runs`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunSettings {
    /// How often a run that is being written is flushed to those who watch it: what comes between goes together.
    #[serde(with = "domain::duration")]
    pub flush_interval: Duration,
    /// Flushes between two snapshots of the document.
    pub snapshot_every: u32,
    /// Largest document, in bytes of JSON.
    pub max_doc_bytes: usize,
    /// Operations that may wait for a flush, in bytes of JSON; who writes faster waits.
    pub max_pending_bytes: usize,
    /// Largest input, in bytes of JSON.
    pub max_input_bytes: usize,
    /// Longest chain of agents that answer agents.
    pub max_hops: u32,
    /// How often a node says that its consumers are connected and work on their runs.
    #[serde(with = "domain::duration")]
    pub heartbeat: Duration,
    /// How long a run stays with a holder that nothing is heard of.
    #[serde(with = "domain::duration")]
    pub lease: Duration,
    /// Executions that may be lost before a run expires.
    pub max_attempts: u32,
    /// How long a run may wait to be started.
    #[serde(with = "domain::duration")]
    pub queue_limit: Duration,
    /// Longest time from the first start of a run to its end.
    #[serde(with = "domain::duration")]
    pub max_runtime: Duration,
    /// How long an agent may take to stop a run that is cancelled.
    #[serde(with = "domain::duration")]
    pub cancel_grace: Duration,
    /// How often workers look for runs that stand still.
    #[serde(with = "domain::duration")]
    pub rescue_interval: Duration,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            flush_interval: Duration::from_millis(50),
            snapshot_every: 64,
            max_doc_bytes: 1024 * 1024,
            max_pending_bytes: 256 * 1024,
            max_input_bytes: 64 * 1024,
            max_hops: 4,
            heartbeat: Duration::from_secs(5),
            lease: Duration::from_secs(30),
            max_attempts: 3,
            queue_limit: Duration::from_secs(3600),
            max_runtime: Duration::from_secs(3600),
            cancel_grace: Duration::from_secs(10),
            rescue_interval: Duration::from_secs(2),
        }
    }
}

impl RunSettings {
    /// How long a consumer counts as connected when its node says nothing.
    #[must_use]
    pub const fn consumer_live(&self) -> Duration {
        self.heartbeat.saturating_mul(3)
    }
}

/// Section `tools`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolSettings {
    /// How long a person has for an answer, unless the call says so.
    #[serde(with = "domain::duration")]
    pub default_timeout: Duration,
    /// The longest that a call may say.
    #[serde(with = "domain::duration")]
    pub max_timeout: Duration,
    /// Largest arguments of a call, in bytes of JSON.
    pub max_args_bytes: usize,
    /// Largest result of a call, in bytes of JSON.
    pub max_result_bytes: usize,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            default_timeout: Duration::from_secs(60),
            max_timeout: Duration::from_secs(3600),
            max_args_bytes: 64 * 1024,
            max_result_bytes: 256 * 1024,
        }
    }
}

/// Section `commands`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct CommandSettings {
    /// How long an agent has to complete a command.
    #[serde(with = "domain::duration")]
    pub autocomplete_timeout: Duration,
    /// Largest input of a command, and largest answer, in bytes.
    pub max_bytes: usize,
}

impl Default for CommandSettings {
    fn default() -> Self {
        Self { autocomplete_timeout: Duration::from_secs(3), max_bytes: 16 * 1024 }
    }
}

/// Section `tasks`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct TasksSettings {
    /// How long a run may take, unless its task says otherwise.
    #[serde(with = "domain::duration")]
    pub max_runtime: Duration,
    /// The longest that a task may say.
    #[serde(with = "domain::duration")]
    pub max_runtime_limit: Duration,
    /// Attempts after the first, unless the task says otherwise.
    pub retries: u32,
    /// Largest body of a call of a hook, and of a webhook, in bytes.
    pub max_input_bytes: usize,
    /// Runs of one task that may wait.
    pub max_queued: u32,
    /// Tasks of one person.
    pub max_per_owner: u32,
    /// Schedules that fire more often are refused.
    #[serde(with = "domain::duration")]
    pub min_interval: Duration,
    /// Calls of one hook that are taken, per second, over all nodes.
    pub hook_rate: f64,
    /// Calls of one hook that are taken at once.
    pub hook_burst: u32,
    /// How far the time of a signed call may be from now.
    #[serde(with = "domain::duration")]
    pub hook_tolerance: Duration,
    /// How long runs that are over are kept; 0 for ever.
    #[serde(with = "domain::duration")]
    pub history_max_age: Duration,
    /// How many runs of a task that are over are kept; 0 for all.
    pub history_max_per_task: u32,
    /// How long deliveries and keys of "run now" are known.
    #[serde(with = "domain::duration")]
    pub deliveries_kept: Duration,
}

impl Default for TasksSettings {
    fn default() -> Self {
        Self {
            max_runtime: Duration::from_mins(5),
            max_runtime_limit: Duration::from_hours(24),
            retries: 3,
            max_input_bytes: 64 * 1024,
            max_queued: 100,
            max_per_owner: 1000,
            min_interval: Duration::from_secs(1),
            hook_rate: 10.0,
            hook_burst: 20,
            hook_tolerance: Duration::from_mins(5),
            history_max_age: Duration::from_hours(30 * 24),
            history_max_per_task: 1000,
            deliveries_kept: Duration::from_hours(7 * 24),
        }
    }
}
