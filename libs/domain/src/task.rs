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

use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::run::named;
use crate::{AgentId, Invalid, RoomId, Schedule, TaskRunId};

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

named! {
    /// Work on Switchboard itself.
    SystemJob, "action.name", "retention, ticket_reap, key_check or noop":
    /// Removes what is spent.
    Retention = "retention",
    /// Removes tickets past their time, full rate buckets, silent nodes.
    TicketReap = "ticket_reap",
    /// Looks whether the signing keys can be read and one of them signs.
    KeyCheck = "key_check",
    /// Nothing: for trying out schedules, and for measurements.
    Noop = "noop",
}

/// What a task does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Says something in a room, in the owner's name.
    Message {
        /// Where.
        room_id: RoomId,
        /// What.
        body: String,
    },
    /// Asks an agent for a run, and follows it to its end.
    AgentRun {
        /// Where.
        room_id: RoomId,
        /// Whom.
        agent_id: AgentId,
        /// What is asked: any JSON.
        input: serde_json::Value,
    },
    /// Posts to a URL.
    Webhook {
        /// Where to.
        url: String,
        /// What is sent as JSON: any; without one, what made the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<serde_json::Value>,
    },
    /// Does something for Switchboard itself.
    System {
        /// What.
        name: SystemJob,
    },
}

impl Action {
    /// The room it acts in, if it does.
    #[must_use]
    pub const fn room(&self) -> Option<RoomId> {
        match self {
            Self::Message { room_id, .. } | Self::AgentRun { room_id, .. } => Some(*room_id),
            Self::Webhook { .. } | Self::System { .. } => None,
        }
    }

    /// Its kind, as it is sent.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Message { .. } => "message",
            Self::AgentRun { .. } => "agent_run",
            Self::Webhook { .. } => "webhook",
            Self::System { .. } => "system",
        }
    }
}

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

/// The tick that follows on the one at `done`, for a task that has time for it at `now`; `None` when the schedule names no further one.
///
/// Usually that is the next after `done`, so nothing drifts. When that one is past already, the newest that is past stands for all that are. If even
/// that one was missed by more than `grace`, `misfire` decides: it is still run, or left out.
///
/// ```
/// use std::time::Duration;
/// use domain::{Schedule, task::{Misfire, next_tick}};
///
/// let hourly = Schedule::parse("@hourly", "UTC")?;
/// let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
/// let next = |misfire, now| next_tick(&hourly, misfire, Duration::from_secs(60), at("2030-01-01T10:00:00Z"), at(now));
///
/// assert_eq!(next(Misfire::Skip, "2030-01-01T10:00:02Z"), Some(at("2030-01-01T11:00:00Z")));
/// assert_eq!(next(Misfire::Once, "2030-01-01T14:20:00Z"), Some(at("2030-01-01T14:00:00Z")), "one for 11, 12, 13 and 14");
/// assert_eq!(next(Misfire::Skip, "2030-01-01T14:20:00Z"), Some(at("2030-01-01T15:00:00Z")));
/// assert_eq!(next(Misfire::Skip, "2030-01-01T14:00:59Z"), Some(at("2030-01-01T14:00:00Z")), "not missed, only late");
/// # Ok::<(), domain::Invalid>(())
/// ```
#[must_use]
pub fn next_tick(
    schedule: &Schedule,
    misfire: Misfire,
    grace: Duration,
    done: Timestamp,
    now: Timestamp,
) -> Option<Timestamp> {
    let next = schedule.next_after(done)?;
    if next > now { Some(next) } else { newest_tick(schedule, misfire, grace, next, now) }
}

/// The tick that a tick at `due`, which nobody has begun at `now`, becomes: itself or, when it was missed by more than `grace`, what
/// [`next_tick`] says of the ticks from it on.
#[must_use]
pub fn late_tick(
    schedule: &Schedule,
    misfire: Misfire,
    grace: Duration,
    due: Timestamp,
    now: Timestamp,
) -> Option<Timestamp> {
    if now < due || now.duration_since(due).unsigned_abs() <= grace {
        return Some(due);
    }
    newest_tick(schedule, misfire, grace, due, now)
}

/// What stands for a tick at `past` and all between it and `now`.
fn newest_tick(
    schedule: &Schedule,
    misfire: Misfire,
    grace: Duration,
    past: Timestamp,
    now: Timestamp,
) -> Option<Timestamp> {
    let newest = schedule.latest_at_or_before(now).filter(|newest| *newest > past).unwrap_or(past);
    let missed = now.duration_since(newest).unsigned_abs() > grace;
    match misfire {
        Misfire::Skip if missed => schedule.next_after(now),
        Misfire::Skip | Misfire::Once => Some(newest),
    }
}

impl TaskRunId {
    /// A fresh id for the run of a tick: sorts by the tick, also among ids that were made when their run was asked for.
    #[must_use]
    pub fn of_tick(at: Timestamp) -> Self {
        let seconds = u64::try_from(at.as_second()).unwrap_or(0);
        let nanos = u32::try_from(at.subsec_nanosecond()).unwrap_or(0);
        Self(Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, seconds, nanos)))
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
