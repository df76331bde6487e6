//! How a run ended, and what comes after it.

use std::time::Duration;

use domain::task::{Backoff, RunEnd, Trigger, cut, next_tick};
use domain::{Schedule, TaskRunId};
use jiff::Timestamp;
use node::SchedulerSettings;
use store::queue::{Next, Plan};

/// What an action came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) end: RunEnd,
    pub(super) error: Option<String>,
    pub(super) output: Option<String>,
    /// How long whoever refused it wants to be left alone.
    pub(super) retry_after: Option<Duration>,
}

impl Outcome {
    /// Done.
    pub(super) const fn done(output: Option<String>) -> Self {
        Self { end: RunEnd::Succeeded, error: None, output, retry_after: None }
    }

    /// It ended otherwise, and this is why.
    pub(super) fn ended(end: RunEnd, error: impl Into<String>) -> Self {
        Self { end, error: Some(error.into()), output: None, retry_after: None }
    }

    /// Text that is short enough to be kept.
    pub(super) fn cut(mut self, max: usize) -> Self {
        self.error = self.error.map(|text| cut(text, max));
        self.output = self.output.map(|text| cut(text, max));
        self
    }
}

/// The settings that say what comes after a run.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    backoff: Backoff,
    grace: Duration,
}

impl From<&SchedulerSettings> for Rules {
    fn from(settings: &SchedulerSettings) -> Self {
        let backoff = Backoff { min: settings.retry_min, max: settings.retry_max };
        Self { backoff, grace: settings.misfire_grace }
    }
}

/// A run that is over, as far as what comes next depends on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Over<'a> {
    pub(super) plan: &'a Plan,
    pub(super) trigger: Trigger,
    pub(super) attempt: u32,
    pub(super) scheduled_for: Timestamp,
    pub(super) end: RunEnd,
    pub(super) retry_after: Option<Duration>,
    /// The database's time.
    pub(super) now: Timestamp,
}

impl Rules {
    /// What comes after a run.
    pub(super) fn next(&self, over: &Over<'_>) -> Next {
        if over.end.is_retried(over.attempt, over.plan.retries) {
            let after = self.pause(over);
            return Next::Retry { id: TaskRunId::new(), after, otherwise: TaskRunId::new() };
        }
        if over.trigger != Trigger::Schedule {
            return Next::Nothing;
        }
        let at = self.next_tick(over);
        Next::Tick { id: at.map(TaskRunId::of_tick).unwrap_or_default(), at }
    }

    /// Whoever lost its worker has waited for the lease already.
    fn pause(&self, over: &Over<'_>) -> Duration {
        if over.end == RunEnd::Lost {
            return Duration::ZERO;
        }
        let pause = self.backoff.after(over.attempt, rand::random());
        over.retry_after.map_or(pause, |asked| asked.min(self.backoff.max).max(pause))
    }

    fn next_tick(&self, over: &Over<'_>) -> Option<Timestamp> {
        let schedule = schedule(over.plan)?;
        next_tick(&schedule, over.plan.misfire, self.grace, over.scheduled_for, over.now)
    }

    /// What becomes of a tick that nobody was there for.
    pub(super) fn late_tick(&self, plan: &Plan, due: Timestamp, now: Timestamp) -> Option<Timestamp> {
        domain::task::late_tick(&schedule(plan)?, plan.misfire, self.grace, due, now)
    }
}

/// The schedule of a plan. It was read when the task was made; one that this release can't read runs no more, and says so.
fn schedule(plan: &Plan) -> Option<Schedule> {
    let (text, zone, anchor) = plan.schedule.as_ref()?;
    match Schedule::parse(text, zone) {
        Ok(schedule) => Some(schedule.anchored_at(*anchor)),
        Err(error) => {
            tracing::error!(%error, "a stored schedule can't be read; its task stands still");
            None
        }
    }
}
