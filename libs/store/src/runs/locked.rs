//! A run that nobody else changes while the transaction lasts that looks at it, and where it may go from there.

use std::time::Duration;

use domain::run::{Change, Standing};
use domain::{AgentId, Principal, RoomId, RunId, SlotSessionId};
use jiff::Timestamp;

use super::RescueRules;

/// A run as it stands, under its lock.
#[derive(Debug, Clone)]
pub(crate) struct LockedRun {
    pub(crate) id: RunId,
    pub(crate) room: RoomId,
    pub(crate) agent: AgentId,
    pub(crate) requester: Principal,
    pub(crate) standing: Standing,
    pub(crate) epoch: u64,
    pub(crate) version: u64,
    pub(crate) attempts: u32,
    pub(crate) holder: Option<SlotSessionId>,
    pub(crate) lease_until: Option<Timestamp>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) cancel_requested_at: Option<Timestamp>,
    pub(crate) queued_since: Timestamp,
    /// The database's clock, when the transaction began.
    pub(crate) now: Timestamp,
}

/// A run that goes from where it stands to somewhere else, away from its holder or its queue.
#[derive(Debug)]
pub(crate) struct Move<'a> {
    pub(crate) run: &'a LockedRun,
    pub(crate) to: Standing,
    /// How many of its executions do not count.
    pub(crate) refund: i32,
}

impl LockedRun {
    /// Where a change leads; none if it may not happen to a run that stands like this.
    pub(crate) fn after(&self, change: Change) -> Option<Standing> {
        self.standing.after(change)
    }

    /// The move that a change is.
    pub(crate) fn moved(&self, change: Change) -> Option<Move<'_>> {
        Some(Move { run: self, to: self.after(change)?, refund: 0 })
    }

    /// What becomes of it when its holder is replaced: the execution does not count.
    pub(crate) fn handed_back(&self) -> Option<Move<'_>> {
        Some(Move { refund: 1, ..self.moved(Change::HandBack)? })
    }

    /// Where it is moved if it stands still.
    pub(crate) fn rescued(&self, rules: &RescueRules) -> Option<Move<'_>> {
        let changes = [
            (self.to_be_stopped_for() >= Some(rules.cancel_grace), Change::CancelGrace),
            (self.worked_on_for() >= Some(rules.max_runtime), Change::MaxRuntime),
            (self.lease_is_over() && self.attempts < rules.max_attempts, Change::HolderLost),
            (self.lease_is_over(), Change::HolderLostForGood),
            (self.queued_for() >= rules.queue_limit, Change::QueueLimit),
        ];
        changes.into_iter().filter(|(due, _)| *due).find_map(|(_, change)| self.moved(change))
    }

    /// Whether whoever works on it has not been heard of for too long.
    fn lease_is_over(&self) -> bool {
        self.lease_until.is_some_and(|until| until <= self.now)
    }

    /// How long somebody works on it, from its first start.
    fn worked_on_for(&self) -> Option<Duration> {
        self.started_at.map(|since| self.ago(since))
    }

    /// How long it is to be stopped.
    fn to_be_stopped_for(&self) -> Option<Duration> {
        self.cancel_requested_at.map(|since| self.ago(since))
    }

    /// How long it waits for a place, or to be taken.
    fn queued_for(&self) -> Duration {
        self.ago(self.queued_since)
    }

    fn ago(&self, since: Timestamp) -> Duration {
        self.now.duration_since(since).try_into().unwrap_or_default()
    }
}
