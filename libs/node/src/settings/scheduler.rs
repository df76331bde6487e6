//! Settings of the scheduler, which works on tasks.

use std::time::Duration;

use domain::Invalid;
use serde::{Deserialize, Serialize};

use super::check::{HOUR, MILLISECOND, SECOND, because, span};

/// Section `scheduler`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct SchedulerSettings {
    /// Whether this worker takes runs of tasks. For the whole cluster they are switched at run time.
    pub enabled: bool,
    /// How long a worker sleeps at most when nothing is due and nobody wakes it.
    #[serde(with = "domain::duration")]
    pub interval: Duration,
    /// A worker begins after a random part of this, so that those started together do not all look at once.
    #[serde(with = "domain::duration")]
    pub startup_jitter: Duration,
    /// Runs that a worker has at one time.
    pub max_concurrent: u32,
    /// How long a worker's runs stay its own when nothing is heard of it.
    #[serde(with = "domain::duration")]
    pub lease: Duration,
    /// How late a tick may be begun. Later, it was missed, and the task's `misfire` says what becomes of it.
    #[serde(with = "domain::duration")]
    pub misfire_grace: Duration,
    /// The pause after the first failed attempt; twice as long after each further one.
    #[serde(with = "domain::duration")]
    pub retry_min: Duration,
    /// The longest pause between attempts.
    #[serde(with = "domain::duration")]
    pub retry_max: Duration,
    /// How long runs may take to end when the worker stops; then they are handed back.
    #[serde(with = "domain::duration")]
    pub drain: Duration,
    /// How long the call of a webhook may take.
    #[serde(with = "domain::duration")]
    pub webhook_timeout: Duration,
    /// What is kept of an output or an error, in bytes.
    pub max_output_bytes: usize,
}

impl Default for SchedulerSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            interval: Duration::from_secs(30),
            startup_jitter: Duration::from_secs(15),
            max_concurrent: 64,
            lease: Duration::from_secs(15),
            misfire_grace: Duration::from_secs(60),
            retry_min: Duration::from_secs(1),
            retry_max: Duration::from_secs(600),
            drain: Duration::from_secs(5),
            webhook_timeout: Duration::from_secs(30),
            max_output_bytes: 16 * 1024,
        }
    }
}

impl SchedulerSettings {
    /// Checks that a worker can work with this.
    ///
    /// # Errors
    ///
    /// The key, and what is allowed.
    pub fn check(&self) -> Result<(), Invalid> {
        span("scheduler.interval", self.interval, 100 * MILLISECOND, 24 * HOUR)?;
        span("scheduler.startup_jitter", self.startup_jitter, Duration::ZERO, 24 * HOUR)?;
        span("scheduler.lease", self.lease, SECOND, 24 * HOUR)?;
        span("scheduler.misfire_grace", self.misfire_grace, SECOND, 365 * 24 * HOUR)?;
        span("scheduler.retry_min", self.retry_min, Duration::ZERO, 365 * 24 * HOUR)?;
        span("scheduler.retry_max", self.retry_max, self.retry_min, 365 * 24 * HOUR)
            .map_err(because("at least scheduler.retry_min"))?;
        span("scheduler.drain", self.drain, Duration::ZERO, 24 * HOUR)?;
        span("scheduler.webhook_timeout", self.webhook_timeout, 100 * MILLISECOND, 24 * HOUR)?;
        if self.max_concurrent == 0 {
            return Err(Invalid::new("scheduler.max_concurrent", "0", "at least 1"));
        }
        if self.max_output_bytes < 256 {
            let given = self.max_output_bytes.to_string();
            return Err(Invalid::new("scheduler.max_output_bytes", &given, "at least 256"));
        }
        Ok(())
    }
}
