//! What is no longer kept.

use std::time::Duration;

use async_trait::async_trait;
use domain::TaskId;
use uuid::Uuid;

use crate::error::StoreError;

pub(crate) mod patched;

/// How much of the log is kept. An event goes when it is too old, or when its stream holds too many after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventLimits {
    /// Older ones go; zero keeps them for ever.
    pub max_age: Duration,
    /// More than this many of one stream go, the oldest first; zero keeps all.
    pub max_per_stream: u64,
}

/// How many rows went.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reaped {
    /// Tickets past their time.
    pub tickets: u64,
    /// Rate buckets that are full again.
    pub buckets: u64,
    /// Nodes silent for longer than allowed.
    pub nodes: u64,
    /// Sign-ins that ended, or whose last refresh token is past its time, long enough ago.
    pub sessions: u64,
    /// Idempotency keys past their day.
    pub keys: u64,
    /// Questions to agents that nobody waits for any more.
    pub questions: u64,
    /// Documents of runs that ended without their holder: they are whole now, and their patches gone.
    pub documents: u64,
}

impl Reaped {
    /// The sum.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts().iter().sum()
    }

    /// The most of one table: with less than a batch, nothing is left in any.
    #[must_use]
    pub fn most(&self) -> u64 {
        self.counts().into_iter().max().unwrap_or_default()
    }

    const fn counts(&self) -> [u64; 7] {
        let Self { tickets, buckets, nodes, sessions, keys, questions, documents } = *self;
        [tickets, buckets, nodes, sessions, keys, questions, documents]
    }
}

/// How much of the history is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskRunLimits {
    /// For how long; zero for ever.
    pub max_age: Duration,
    /// How many of a task; 0 for all.
    pub max_per_task: u32,
    /// How long deliveries are known.
    pub deliveries: Duration,
}

/// What a batch of retention removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TrimmedTaskRuns {
    /// Runs that are over.
    pub runs: u64,
    /// Deliveries.
    pub deliveries: u64,
    /// Tasks that were deleted before.
    pub tasks: u64,
    /// Where the next batch goes on; `None` at the end.
    pub next: Option<TaskId>,
}

impl TrimmedTaskRuns {
    /// Says where the next batch goes on: this one began after `after`, could take `batch` rows of each sort, and `last` is the last task
    /// that it looked at, if there may be more of them.
    pub(crate) fn going_on(self, batch: u32, after: Option<TaskId>, last: Option<TaskId>) -> Self {
        let full = u64::from(batch);
        let next = if self.runs >= full {
            // There is more of the same page.
            Some(after.unwrap_or(TaskId(Uuid::nil())))
        } else {
            last
        };
        // Behind the last task there may be more of what lies in no page.
        let next = next.or((self.deliveries >= full || self.tasks >= full).then_some(TaskId(Uuid::max())));
        Self { next, ..self }
    }
}

/// Retention. Every call works in small batches and can be repeated, interrupted and run by several workers at once.
#[async_trait]
pub trait Retention {
    /// Removes what is spent, at most `batch` rows a table. `dead_after`: silence after which a node's
    /// row goes; `sessions_after`: how long ended sign-ins are kept (longer than an access token lives).
    async fn reap(
        &self,
        dead_after: Duration,
        sessions_after: Duration,
        batch: u32,
    ) -> Result<Reaped, StoreError>;

    /// Removes events beyond the limits, at most `batch`, the floor of each stream moved in the same
    /// commit; answers how many. Zero means that nothing is left to do.
    async fn trim_events(&self, limits: EventLimits, batch: u32) -> Result<u64, StoreError>;

    /// Removes notifications that are older than `max_age`, with all that belongs to them, at most `batch`; answers how many.
    async fn trim_notifications(&self, max_age: Duration, batch: u32) -> Result<u64, StoreError>;

    /// Removes a batch of what the history need not keep: of the tasks after `after`.
    async fn trim_task_runs(
        &self,
        limits: TaskRunLimits,
        after: Option<TaskId>,
        batch: u32,
    ) -> Result<TrimmedTaskRuns, StoreError>;
}
