//! How runs end, and how long the next attempt waits.

use std::time::Duration;

use super::TaskRunStatus;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// Done.
    Succeeded,
    /// It failed in a way that another attempt may not.
    Failed,
    /// It failed, and would again.
    Refused,
    /// It took too long.
    TimedOut,
    /// Somebody stopped it.
    Cancelled,
    /// Its worker is gone.
    Lost,
}

impl RunEnd {
    /// The status that a run which ended so has.
    #[must_use]
    pub const fn status(self) -> TaskRunStatus {
        match self {
            Self::Succeeded => TaskRunStatus::Succeeded,
            Self::Failed | Self::Refused => TaskRunStatus::Failed,
            Self::TimedOut => TaskRunStatus::TimedOut,
            Self::Cancelled => TaskRunStatus::Cancelled,
            Self::Lost => TaskRunStatus::Lost,
        }
    }

    /// Whether there is an attempt after attempt number `attempt` of a task with so many `retries`.
    #[must_use]
    pub const fn is_retried(self, attempt: u32, retries: u32) -> bool {
        matches!(self, Self::Failed | Self::TimedOut | Self::Lost) && attempt <= retries
    }
}

/// How long a failed chain waits between its attempts: twice as long each time, somewhere in the upper half of that, so that what failed
/// together is not tried together ("equal jitter", M. Brooker, AWS architecture blog, 2015).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// After the first attempt.
    pub min: Duration,
    /// At most.
    pub max: Duration,
}

impl Backoff {
    /// The pause after attempt number `attempt`; `random` is uniform in 0.0 to 1.0.
    #[must_use]
    pub fn after(self, attempt: u32, random: f64) -> Duration {
        let doubled = 2_u32.checked_pow(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        let longest = self.min.saturating_mul(doubled).min(self.max);
        longest.mul_f64(0.5 + random.clamp(0.0, 1.0) / 2.0)
    }
}
