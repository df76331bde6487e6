//! The queue of runs of tasks: claims, workers' sessions, what is over, what was lost.
//!
//! A *session* is a worker's hold on what it has claimed, good until its lease is over by the database's clock; one row a worker, however
//! many runs it has. Whatever is written in the name of a run is guarded by its session, which must be good, and by the run's session and
//! epoch (a fencing token, Kleppmann, "How to do distributed locking", 2016).
//!
//! Runs are claimed in the order of their *turns*, which they are given when they become ready (start-time fair queuing, Goyal et al.,
//! 1996): each owner and priority is a flow, and a run's turn is that of the run before it in its flow, or of what was claimed last, plus
//! its cost. So what one owner has queued delays another's by no more than a batch.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::task::{Action, Misfire, RunEnd, Trigger};
use domain::{Event, NodeId, RunId, TaskId, TaskRunId, UserId, WorkerSessionId};
use jiff::Timestamp;

use crate::error::StoreError;
use crate::messages::NewMessage;
use crate::runs::{NewRun, Requested, Run, RunCreated};
use crate::tasks::SigningKey;

/// What a broken fence is answered with.
pub const NOT_HELD: &str = "the run is no longer this worker's";

/// What must hold for a write in the name of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// The worker's session.
    pub session: WorkerSessionId,
    /// The run it has claimed.
    pub run: TaskRunId,
    /// Under this number.
    pub epoch: u64,
}

/// What is known of the times of a task when its run is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The version of the task that this is from.
    pub version: u64,
    /// The schedule, its zone and its anchor.
    pub schedule: Option<(String, String, Timestamp)>,
    /// What becomes of ticks that were missed.
    pub misfire: Misfire,
    /// Attempts after the first.
    pub retries: u32,
}

/// What the owner of a task may have done in their name when a run of it is claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnerStanding {
    /// Nothing: they are disabled.
    Disabled,
    /// What people may.
    Person,
    /// Also what is for administrators.
    Admin,
}

/// A run that a worker was given.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedRun {
    /// Which.
    pub id: TaskRunId,
    /// Of which task.
    pub task: TaskId,
    /// Whose.
    pub owner: UserId,
    /// What its owner may have done.
    pub standing: OwnerStanding,
    /// The first attempt at the same thing.
    pub chain: TaskRunId,
    /// The number of this claim.
    pub epoch: u64,
    /// 1 for the first.
    pub attempt: u32,
    /// What made it.
    pub trigger: Trigger,
    /// The tick it is for, or when it was asked for.
    pub scheduled_for: Timestamp,
    /// Since when it could have been started.
    pub due_at: Timestamp,
    /// When it was claimed, by the database's clock.
    pub started_at: Timestamp,
    /// Its place in line.
    pub turn: i64,
    /// Whether it is to be cancelled instead.
    pub cancel_requested: bool,
    /// The caller's name for what it brought.
    pub delivery: Option<String>,
    /// What the caller of the hook sent.
    pub input: Option<Vec<u8>>,
    /// The trace of the call that asked for it (`traceparent`), if it is recorded.
    pub trace: Option<Arc<str>>,
    /// The task's name.
    pub name: String,
    /// What is done; `None` when a newer release wrote it and this one does not know it.
    pub action: Option<Action>,
    /// How long it may take.
    pub max_runtime: Duration,
    /// What its webhook is signed with.
    pub webhook_key: Option<SigningKey>,
    /// What comes after it.
    pub plan: Plan,
}

/// What comes after a run that is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Another attempt at the same.
    Retry {
        /// Its id.
        id: TaskRunId,
        /// How long it waits.
        after: Duration,
        /// The id of the tick that follows instead, when the task was edited meanwhile.
        otherwise: TaskRunId,
    },
    /// The next tick of the schedule; when the task was edited meanwhile, what the edit planned.
    Tick {
        /// Its id.
        id: TaskRunId,
        /// When; `None` when none follows.
        at: Option<Timestamp>,
    },
    /// Nothing: it was asked for by a call.
    Nothing,
}

impl Next {
    /// The tick that follows when there is no other attempt, and its time.
    pub(crate) const fn tick(self) -> Option<(TaskRunId, Option<Timestamp>)> {
        match self {
            Self::Retry { otherwise, .. } => Some((otherwise, None)),
            Self::Tick { id, at } => Some((id, at)),
            Self::Nothing => None,
        }
    }
}

/// A run that is over.
#[derive(Debug, Clone)]
pub struct FinishedRun {
    /// Which.
    pub run: TaskRunId,
    /// Of which task.
    pub task: TaskId,
    /// Under which claim.
    pub epoch: u64,
    /// How it ended.
    pub end: RunEnd,
    /// What went wrong.
    pub error: Option<String>,
    /// What came of it.
    pub output: Option<String>,
    /// The version of the task that `next` was made from.
    pub version: u64,
    /// What comes after it.
    pub next: Next,
}

/// What a worker has done, and how much it takes.
#[derive(Debug, Clone, Copy)]
pub struct Work<'a> {
    /// Runs that are over.
    pub finished: &'a [FinishedRun],
    /// Most runs to be claimed.
    pub budget: u32,
    /// The turn below which everything is known to be claimed: 0 to look everywhere. A claim need not step over what
    /// was claimed before it but can't be removed yet.
    pub floor: i64,
}

/// What came of it.
#[derive(Debug, Clone)]
pub struct Worked {
    /// The runs that were over by this; those that are missing were no longer the session's.
    pub finished: Vec<TaskRunId>,
    /// The runs that were given, in the order of their turns. None when the session is over or the scheduler is switched off.
    pub claimed: Vec<ClaimedRun>,
    /// Runs that waited for those that are over, and became ready after this claim: there is something to claim at once.
    pub unblocked: u32,
}

/// What became due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Promoted {
    /// Runs that were made ready, or wait for another run of their task.
    pub due: u32,
    /// How long until the next is due; `None` when nothing waits.
    pub next_in: Option<Duration>,
}

/// A tick that nobody was there for.
#[derive(Debug, Clone, PartialEq)]
pub struct LateTick {
    /// Which.
    pub id: TaskRunId,
    /// The tick.
    pub due: Timestamp,
    /// The database's time.
    pub now: Timestamp,
    /// The task's times.
    pub plan: Plan,
}

/// A tick that is moved: from where it was, to where it is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedTick {
    /// Which.
    pub id: TaskRunId,
    /// When it was due.
    pub from: Timestamp,
    /// The tick it becomes; `None` removes it.
    pub to: Option<Timestamp>,
}

/// A run whose worker is gone.
#[derive(Debug, Clone, PartialEq)]
pub struct LostRun {
    /// Which.
    pub id: TaskRunId,
    /// Of which task.
    pub task: TaskId,
    /// The session that had it.
    pub session: WorkerSessionId,
    /// Under which claim.
    pub epoch: u64,
    /// 1 for the first.
    pub attempt: u32,
    /// What made it.
    pub trigger: Trigger,
    /// The tick it was for.
    pub scheduled_for: Timestamp,
    /// The database's time.
    pub now: Timestamp,
    /// What comes after it.
    pub plan: Plan,
}

/// What workers do with runs of tasks.
#[async_trait]
pub trait Queue {
    /// Begins a worker's session; the turn of what was claimed last, by anybody.
    async fn open_worker(
        &self,
        session: WorkerSessionId,
        node: NodeId,
        lease: Duration,
    ) -> Result<i64, StoreError>;

    /// Renews a session, for `lease` from now; `false` when it is over.
    async fn renew_worker(&self, session: WorkerSessionId, lease: Duration) -> Result<bool, StoreError>;

    /// Of these runs those that are to be stopped.
    async fn cancelled_runs(&self, runs: &[TaskRunId]) -> Result<Vec<TaskRunId>, StoreError>;

    /// Ends a session: what it has is handed back, ready for others, as the attempts that they are.
    async fn close_worker(&self, session: WorkerSessionId) -> Result<u64, StoreError>;

    /// Hands back runs of a session that were not begun or were left: ready again, as the attempts that they are. How many were its own.
    async fn hand_back(&self, session: WorkerSessionId, runs: &[(TaskRunId, u64)])
    -> Result<u64, StoreError>;

    /// Makes what is due ready, at most `limit`; ticks that are late by more than `grace` wait for [`Self::move_ticks`].
    async fn promote_due(&self, grace: Duration, limit: u32) -> Result<Promoted, StoreError>;

    /// Whether something waits that is due already: whoever was to make it ready may be gone.
    async fn is_overdue(&self) -> Result<bool, StoreError>;

    /// Ticks that are late by more than `grace`, at most `limit`.
    async fn late_ticks(&self, grace: Duration, limit: u32) -> Result<Vec<LateTick>, StoreError>;

    /// Moves ticks that are still where they were. One that is moved to a time that has passed is made ready.
    async fn move_ticks(&self, ticks: &[MovedTick]) -> Result<(), StoreError>;

    /// Records what is over with what comes after it, and claims more: one transaction.
    async fn work(&self, session: WorkerSessionId, work: Work<'_>) -> Result<Worked, StoreError>;

    /// Runs of sessions that are over, at most `limit`.
    async fn lost_runs(&self, limit: u32) -> Result<Vec<LostRun>, StoreError>;

    /// Records runs of sessions that are over as lost; each with its session. Those that were recorded by this.
    async fn lose_runs(&self, runs: &[(WorkerSessionId, FinishedRun)]) -> Result<Vec<TaskRunId>, StoreError>;

    /// Takes runs from sessions that are good, but have worked on them for longer than they may and `grace`: they are lost then. Makes runs ready that
    /// wait for another of their task which is over. Removes sessions that are over for long. How many runs were moved.
    async fn tidy_queue(&self, grace: Duration) -> Result<u64, StoreError>;

    /// Appends a message in the name of a run.
    ///
    /// # Errors
    ///
    /// As [`crate::Messages`]; `Conflict` when the fence does not hold.
    async fn post_for_task(
        &self,
        fence: &Fence,
        message: &NewMessage,
        runs: &[NewRun],
    ) -> Result<Requested, StoreError>;

    /// Asks for a run of an agent in the name of a run of a task.
    ///
    /// # Errors
    ///
    /// As [`crate::Runs::create_run`]; `Conflict` when the fence does not hold.
    async fn create_run_for_task(&self, fence: &Fence, run: &NewRun) -> Result<RunCreated, StoreError>;

    /// Asks a run of an agent to stop, in the name of a run of a task that follows it; the run, and what was written.
    ///
    /// # Errors
    ///
    /// As [`crate::Runs::cancel_run`]; `Conflict` when the fence does not hold.
    async fn cancel_run_for_task(
        &self,
        fence: &Fence,
        actor: UserId,
        run: RunId,
    ) -> Result<(Run, Vec<Event>), StoreError>;

    /// Hands back what a session has without its worker knowing it: a claim whose answer was lost. How many that were.
    async fn hand_back_unknown(
        &self,
        session: WorkerSessionId,
        known: &[TaskRunId],
    ) -> Result<u64, StoreError>;

    /// Whether a fence holds now: asked before something is done that no write guards.
    async fn holds(&self, fence: &Fence) -> Result<bool, StoreError>;
}
