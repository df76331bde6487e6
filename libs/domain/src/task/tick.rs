//! Which tick comes next, and what becomes of those that were missed.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::Misfire;
use crate::{Schedule, TaskRunId};

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
