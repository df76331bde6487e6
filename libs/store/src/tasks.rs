//! Tasks as people see them: what is done and when, runs that are asked for, the history.
//!
//! The life of a run is drawn in [`domain::task`]; what workers do with the queue is [`crate::queue`]. A *tick* is the queued run for the
//! next time that a schedule names, and each active task with a schedule has exactly one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::task::{Action, Misfire, Priority, QueueReason, TaskRunStatus, Trigger};
use domain::{NodeId, RoomId, TaskId, TaskRunId, UserId};
use jiff::Timestamp;

use crate::devices::IdempotencyKey;
use crate::error::StoreError;
use crate::queue::Next;

pub(crate) mod stored;

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
    /// Tasks of one owner beyond which no more are made.
    pub max_per_owner: u32,
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
    /// The trace of the call (`traceparent`), if it is recorded; attempts after the first are part of it, too.
    pub trace: Option<Arc<str>>,
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
    /// From when on it may be begun, when it is not over.
    pub due_at: Option<Timestamp>,
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

/// What is kept of tasks.
#[async_trait]
pub trait Tasks {
    /// Makes a task with its first tick. The same key of the same owner gives the first task again, with `false`.
    ///
    /// # Errors
    ///
    /// `NotFound` for a room the owner is not in, or an agent that is not in it; `Conflict` when the owner has as many as may be; `NonceReused`.
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

    /// Gives the webhook of a task another key; `false` when the task is gone or calls none.
    async fn set_webhook_key(&self, id: TaskId, key: &SigningKey) -> Result<bool, StoreError>;

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

    /// The database's time, which schedules are counted from whichever node asks: in microseconds, as it keeps them.
    async fn time(&self) -> Result<Timestamp, StoreError>;

    /// Whether workers claim anything.
    async fn scheduler_enabled(&self) -> Result<bool, StoreError>;

    /// Switches all workers on or off.
    async fn switch_scheduler(&self, by: UserId, enabled: bool) -> Result<(), StoreError>;
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
