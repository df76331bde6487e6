//! Tasks and their runs: the definitions, the queue, the workers' sessions, the history.
//!
//! The life of a run is drawn in [`domain::task`]. Terms: a *tick* is the queued run for the next time that a schedule names, and each active
//! task with a schedule has exactly one; a *session* is a worker's hold on what it has claimed, good until its lease is over by the
//! database's clock. Whatever is written in the name of a run is guarded by its session, which must be good, and by the run's
//! session and epoch.
//!
//! Runs are claimed in the order of their *turns*, which they are given when they become ready (start-time fair queuing, Goyal et al.,
//! 1996): each owner and priority is a flow, and a run's turn is that of the run before it in its flow, or of what was claimed last, plus
//! its cost. So what one owner has queued delays another's by no more than a batch.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use domain::task::{Action, Misfire, Priority, QueueReason, RunEnd, TaskRunStatus, Trigger};
use domain::{NodeId, RoomId, TaskId, TaskRunId, UserId, WorkerSessionId};
use jiff::Timestamp;

use crate::devices::IdempotencyKey;
use crate::error::StoreError;
use crate::messages::NewMessage;
use crate::runs::{NewRun, Requested, RunCreated};

/// How callers of a hook prove who they are, beyond knowing its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookSignature {
    /// Not at all.
    None,
    /// `webhook-signature` of Standard Webhooks.
    Standard,
    /// `X-Hub-Signature-256` as GitHub sends it.
    Github,
}

/// A key that calls are signed with. Never shown, also not for debugging.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(pub Vec<u8>);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

/// A hook as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hook {
    /// SHA-256 of the secret in its address.
    pub hash: [u8; 32],
    /// What else callers must bring.
    pub signature: HookSignature,
    /// What they sign with, when they sign.
    pub key: Option<SigningKey>,
}

/// What a task is, as its owner says it.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskSettings {
    /// For people.
    pub name: String,
    /// When; `None` for a task that runs only when it is told to.
    pub schedule: Option<String>,
    /// The zone of the schedule.
    pub timezone: String,
    /// What intervals are measured from.
    pub anchor: Timestamp,
    /// What is done.
    pub action: Action,
    /// Whether its schedule and its hook are listened to.
    pub is_active: bool,
    /// Its place among its owner's.
    pub priority: Priority,
    /// How long a run may take.
    pub max_runtime: Duration,
    /// Attempts after the first.
    pub retries: u32,
    /// What becomes of ticks that were missed.
    pub misfire: Misfire,
}

/// A task to be made.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// The id chosen by the caller.
    pub id: TaskId,
    /// Whose.
    pub owner: UserId,
    /// What.
    pub settings: TaskSettings,
    /// Its first tick; `None` when it has no schedule or is paused.
    pub first: Option<Timestamp>,
    /// Its hook, if it has one.
    pub hook: Option<Hook>,
    /// What calls of its webhook are signed with.
    pub webhook_key: Option<SigningKey>,
    /// Makes the call safe to repeat.
    pub key: Option<IdempotencyKey>,
}

/// A task as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Which.
    pub id: TaskId,
    /// Whose.
    pub owner: UserId,
    /// What.
    pub settings: TaskSettings,
    /// Grows with each edit.
    pub version: u64,
    /// What callers of its hook must bring; `None` without a hook.
    pub hook: Option<HookSignature>,
    /// When it runs next; `None` while the tick before is worked on, and when none follows.
    pub next_run_at: Option<Timestamp>,
    /// When its newest run was started.
    pub last_run_at: Option<Timestamp>,
    /// Runs that are over.
    pub run_count: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was last edited.
    pub updated_at: Timestamp,
}

/// Which tasks a person is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskFilter {
    /// Their own.
    Own,
    /// Those of a room that they are in.
    Room(RoomId),
    /// All; for administrators.
    All,
}

/// An edit of a task.
#[derive(Debug, Clone)]
pub struct TaskEdit {
    /// Which.
    pub id: TaskId,
    /// The version that the edit was made from: any other in the store, and nothing is written.
    pub version: u64,
    /// What it is from now on.
    pub settings: TaskSettings,
    /// Its next tick from now on; `None` when it has no schedule or is paused.
    pub next: Option<Timestamp>,
    /// Whether ticks and attempts that wait are thrown away for `next`; not so for an edit that leaves the times alone.
    pub replan: bool,
    /// What calls of its webhook are signed with from now on; `None` leaves it.
    pub webhook_key: Option<SigningKey>,
}

/// A run to be queued by a call.
#[derive(Debug, Clone)]
pub struct NewTaskRun {
    /// The id chosen by the caller.
    pub id: TaskRunId,
    /// Of which task.
    pub task: TaskId,
    /// [`Trigger::Webhook`] or [`Trigger::Manual`].
    pub trigger: Trigger,
    /// The same delivery of the same task queues nothing again.
    pub delivery: Option<String>,
    /// What the caller sent.
    pub input: Option<Vec<u8>>,
    /// Queued runs of a task beyond which it takes no more.
    pub max_queued: u32,
}

/// What came of queuing a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queued {
    /// The run: the new one, or that of the first delivery.
    pub run: TaskRunId,
    /// Whether the delivery was taken before.
    pub repeated: bool,
}

/// A hook that is called.
#[derive(Debug, Clone)]
pub struct CalledHook {
    /// Of which task.
    pub task: TaskId,
    /// How its callers prove who they are.
    pub signature: HookSignature,
    /// What they sign with, when they sign.
    pub key: Option<SigningKey>,
    /// Whether it listens.
    pub is_active: bool,
}

/// A run of a task as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskRun {
    /// Which.
    pub id: TaskRunId,
    /// Of which task.
    pub task: TaskId,
    /// How it stands.
    pub status: TaskRunStatus,
    /// Why it is queued.
    pub reason: Option<QueueReason>,
    /// What made it.
    pub trigger: Trigger,
    /// 1 for the first.
    pub attempt: u32,
    /// How often it was claimed.
    pub epoch: u64,
    /// Where it runs or ran.
    pub node: Option<NodeId>,
    /// Until when its worker has it.
    pub lease_expires_at: Option<Timestamp>,
    /// The tick it is for, or when it was asked for.
    pub scheduled_for: Timestamp,
    /// When it was queued.
    pub created_at: Timestamp,
    /// When it was last claimed.
    pub started_at: Option<Timestamp>,
    /// When it was over.
    pub finished_at: Option<Timestamp>,
    /// The caller's name for what it brought.
    pub delivery: Option<String>,
    /// Whether it is to stop.
    pub cancel_requested: bool,
    /// What went wrong.
    pub error: Option<String>,
    /// What came of it.
    pub output: Option<String>,
}

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

/// A run that a worker was given.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedRun {
    /// Which.
    pub id: TaskRunId,
    /// Of which task.
    pub task: TaskId,
    /// Whose.
    pub owner: UserId,
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
    /// The task's name.
    pub name: String,
    /// What is done.
    pub action: Action,
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
        /// The tick to wait for instead, when the task was edited meanwhile.
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

/// A run that is over.
#[derive(Debug, Clone)]
pub struct FinishedRun {
    /// Which.
    pub run: TaskRunId,
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
}

/// A worker's session after it was renewed.
#[derive(Debug, Clone)]
pub struct Renewed {
    /// Runs of it that are to be stopped.
    pub cancelled: Vec<TaskRunId>,
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
    /// When it was due.
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

/// What is kept of tasks.
#[async_trait]
pub trait Tasks {
    /// Makes a task with its first tick. The same key of the same owner gives the first task again, with `false`.
    ///
    /// # Errors
    ///
    /// `NotFound` for a room the owner is not in, or an agent that is not in it; `NonceReused`.
    async fn create_task(&self, task: &NewTask) -> Result<(Task, bool), StoreError>;

    /// A task, for its owner, those in its room, and administrators.
    async fn task(&self, reader: UserId, id: TaskId) -> Result<Option<Task>, StoreError>;

    /// Tasks by id, newest first, at most `limit`, before `before`. None for a room the reader is not in, and for
    /// [`TaskFilter::All`] of somebody who is no administrator.
    async fn tasks(
        &self,
        reader: UserId,
        filter: TaskFilter,
        before: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<Task>, StoreError>;

    /// What a person may do with a task that they may read.
    async fn task_rights(&self, user: UserId, task: TaskId) -> Result<Option<TaskRights>, StoreError>;

    /// Edits a task; `false` when it has another version by now.
    ///
    /// # Errors
    ///
    /// `NotFound` for a task that is gone, a room the owner is not in, or an agent that is not in it.
    async fn edit_task(&self, edit: &TaskEdit) -> Result<bool, StoreError>;

    /// Removes a task, what it has queued, and, in small batches, its history. A run that is worked on is asked to stop. `false` when it was gone.
    async fn delete_task(&self, id: TaskId) -> Result<bool, StoreError>;

    /// Gives a task another hook, or none: the address before is good for nothing from then on. `false` when the task is gone.
    async fn set_hook(&self, id: TaskId, hook: Option<&Hook>) -> Result<bool, StoreError>;

    /// The hook with this hash.
    async fn hook(&self, hash: &[u8; 32]) -> Result<Option<CalledHook>, StoreError>;

    /// Queues a run.
    ///
    /// # Errors
    ///
    /// `NotFound` for a task that is gone; `Conflict` for a hook of one that is paused, and when as many are queued as may be.
    async fn queue_task_run(&self, run: &NewTaskRun) -> Result<Queued, StoreError>;

    /// A run, for those who may read its task.
    async fn task_run(&self, reader: UserId, id: TaskRunId) -> Result<Option<TaskRun>, StoreError>;

    /// Runs of a task by id, newest first, at most `limit`, before `before`; `None` for a task that the reader may not read.
    async fn task_runs(
        &self,
        reader: UserId,
        task: TaskId,
        before: Option<TaskRunId>,
        limit: u32,
    ) -> Result<Option<Vec<TaskRun>>, StoreError>;

    /// Stops a run: one that is queued is over at once, one that is worked on is asked to stop. `next` is what follows on a queued one, and `version`
    /// that of the task it was made from. The run as it stands then; `None` when there is none.
    async fn cancel_task_run(
        &self,
        id: TaskRunId,
        version: u64,
        next: Next,
    ) -> Result<Option<TaskRun>, StoreError>;

    /// Begins a worker's session.
    async fn open_worker(
        &self,
        session: WorkerSessionId,
        node: NodeId,
        lease: Duration,
    ) -> Result<(), StoreError>;

    /// Renews a session, for `lease` from now; `None` when it is over.
    async fn renew_worker(
        &self,
        session: WorkerSessionId,
        lease: Duration,
    ) -> Result<Option<Renewed>, StoreError>;

    /// Ends a session: what it has is handed back, ready for others, as the attempts that they are.
    async fn close_worker(&self, session: WorkerSessionId) -> Result<u64, StoreError>;

    /// Hands back runs of a session that were not begun or were left: ready again, as the attempts that they are. How many were its own.
    async fn hand_back(&self, session: WorkerSessionId, runs: &[(TaskRunId, u64)])
    -> Result<u64, StoreError>;

    /// Makes what is due ready, at most `limit`; ticks that are late by more than `grace` wait for [`Self::move_ticks`].
    async fn promote_due(&self, grace: Duration, limit: u32) -> Result<Promoted, StoreError>;

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

    /// Whether a fence holds now: asked before something is done that no write guards.
    async fn holds(&self, fence: &Fence) -> Result<bool, StoreError>;

    /// Whether workers claim anything.
    async fn scheduler_enabled(&self) -> Result<bool, StoreError>;

    /// Switches all workers on or off.
    async fn switch_scheduler(&self, by: UserId, enabled: bool) -> Result<(), StoreError>;

    /// Removes a batch of what the history need not keep: of the tasks after `after`.
    async fn trim_task_runs(
        &self,
        limits: TaskRunLimits,
        after: Option<TaskId>,
        batch: u32,
    ) -> Result<TrimmedTaskRuns, StoreError>;
}

/// What somebody may do with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskRights {
    /// Everything.
    Owner,
    /// Read, pause, delete it and stop its runs: who owns its room, and administrators.
    Moderator,
    /// Read.
    Reader,
}

/// The message that says what a broken fence is answered with.
pub const NOT_HELD: &str = "the run is no longer this worker's";
