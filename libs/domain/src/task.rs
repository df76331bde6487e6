//! Tasks: what is done again and again, and how one attempt at it may go.
//!
//! Terms: a *tick* is a time that the schedule names; a *run* is one attempt at a task, for a tick, a call of its hook or a person's
//! "run now"; a *chain* is the attempts at the same thing, numbered from 1.
//!
//! ```text
//!   queued -----------------------> cancelled
//!   (waiting: due later)
//!   (blocked: another run of the task is active)
//!   (ready: for any worker)
//!     |    ^
//!     |    +-- handed back (same attempt) --+
//!     |                                     |
//!     +-- claim (worker, epoch + 1) --> running --> succeeded | failed | timed_out | cancelled
//!                                           |
//!                                           +-- the worker's lease is over --> lost
//! ```
//!
//! A run that is over never changes. What comes after it is another run: [`RunEnd::is_retried`] says whether there is a further
//! attempt, [`next_tick`] which tick follows when there is none.

mod action;
mod end;
mod tick;

use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use action::{Action, SystemJob};
pub use end::{Backoff, RunEnd};
pub use tick::{late_tick, next_tick};

use crate::Invalid;
use crate::run::named;

named! {
    /// How a run of a task stands.
    TaskRunStatus, "status", "queued, running, succeeded, failed, timed_out, cancelled or lost":
    /// No worker has it.
    Queued = "queued",
    /// A worker is at it.
    Running = "running",
    /// Over: done.
    Succeeded = "succeeded",
    /// Over: it could not be done.
    Failed = "failed",
    /// Over: it took longer than `max_runtime`.
    TimedOut = "timed_out",
    /// Over: somebody stopped it.
    Cancelled = "cancelled",
    /// Over: its worker died, or could not be heard of for as long as its lease.
    Lost = "lost",
}

impl TaskRunStatus {
    /// Whether nothing can change any more.
    #[must_use]
    pub const fn is_over(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

named! {
    /// Where a run that is not over lies; [`TaskRunStatus`] shows the first three as `queued`.
    QueueState, "state", "waiting, blocked, ready or running":
    /// Due later.
    Waiting = "waiting",
    /// Due, but another run of its task is ready or running.
    Blocked = "blocked",
    /// The next worker with room takes it.
    Ready = "ready",
    /// A worker has it.
    Running = "running",
}

impl From<QueueState> for TaskRunStatus {
    fn from(state: QueueState) -> Self {
        match state {
            QueueState::Waiting | QueueState::Blocked | QueueState::Ready => Self::Queued,
            QueueState::Running => Self::Running,
        }
    }
}

named! {
    /// Why a run is queued.
    QueueReason, "reason", "scheduled, backoff, task_busy, in_line or scheduler_disabled":
    /// Its time has not come.
    Scheduled = "scheduled",
    /// The attempt before failed; it is tried again later.
    Backoff = "backoff",
    /// Another run of the task is under way.
    TaskBusy = "task_busy",
    /// It is due; the next worker that has room takes it.
    InLine = "in_line",
    /// Tasks are switched off for the whole cluster.
    SchedulerDisabled = "scheduler_disabled",
}

impl QueueReason {
    /// Why a run in `state` at its attempt number `attempt` is queued; `None` for one that runs.
    #[must_use]
    pub const fn of(state: QueueState, attempt: u32, enabled: bool) -> Option<Self> {
        match state {
            QueueState::Running => None,
            QueueState::Waiting if attempt > 1 => Some(Self::Backoff),
            QueueState::Waiting => Some(Self::Scheduled),
            QueueState::Blocked => Some(Self::TaskBusy),
            QueueState::Ready if enabled => Some(Self::InLine),
            QueueState::Ready => Some(Self::SchedulerDisabled),
        }
    }
}

named! {
    /// What made a run.
    Trigger, "trigger", "schedule, webhook or manual":
    /// Its time came.
    Schedule = "schedule",
    /// A call of the task's hook.
    Webhook = "webhook",
    /// Somebody asked for it.
    Manual = "manual",
}

named! {
    /// What becomes of a tick that no worker was there for.
    #[derive(Default)]
    Misfire, "misfire", "skip or once":
    /// Nothing: the task goes on with its next tick.
    Skip = "skip",
    /// It is made up for, once, however many were missed.
    #[default]
    Once = "once",
}

named! {
    /// How an owner's runs stand to each other in line.
    #[derive(Default)]
    Priority, "priority", "high, normal or low":
    /// Before the others.
    High = "high",
    /// As usual.
    #[default]
    Normal = "normal",
    /// When there is room.
    Low = "low",
}

impl Priority {
    /// What a run costs in line: of two flows that always have something to do, the one at half the cost runs twice as often.
    #[must_use]
    pub const fn cost(self) -> i64 {
        match self {
            Self::High => 1,
            Self::Normal => 4,
            Self::Low => 16,
        }
    }

    /// The priority with this cost.
    #[must_use]
    pub const fn from_cost(cost: i64) -> Option<Self> {
        match cost {
            1 => Some(Self::High),
            4 => Some(Self::Normal),
            16 => Some(Self::Low),
            _ => None,
        }
    }
}

/// Most attempts after the first.
pub const MAX_RETRIES: u32 = 20;

/// Checks `retries`.
///
/// # Errors
///
/// More than [`MAX_RETRIES`].
pub fn retries(retries: u32) -> Result<u32, Invalid> {
    if retries > MAX_RETRIES {
        return Err(Invalid::new("retries", &retries.to_string(), format!("0 to {MAX_RETRIES}")));
    }
    Ok(retries)
}

/// Cuts a text to at most `max` bytes, at a character; says so at its end when something went.
#[must_use]
pub fn cut(mut text: String, max: usize) -> String {
    const MARK: &str = " [cut]";
    // PostgreSQL takes no NUL in a text, and nobody can read one.
    text.retain(|c| c != '\0');
    if text.len() <= max {
        return text;
    }
    let mut end = max.saturating_sub(MARK.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
    text.push_str(MARK);
    text
}

#[cfg(test)]
mod tests;
