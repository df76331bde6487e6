//! Runs of tasks: asked for, read, stopped.

use std::time::Duration;

use domain::task::{TaskRunStatus, Trigger, next_tick};
use domain::{Schedule, TaskId, TaskRunId, UserId, text};
use jiff::Timestamp;
use store::Refusal;
use store::queue::Next;
use store::tasks::{NewTaskRun, Task, TaskRun};

use super::NO_TASK;
use crate::Operations;
use crate::error::Error;

/// What keys of "run now" begin with where they are kept beside the deliveries of the hook, which have no blank.
const KEY: &str = "key ";

const NO_RUN: Refusal = Refusal::NotFound("task run");

/// The name that the caller gave to what queued a run, as they gave it.
#[must_use]
pub fn delivery_as_given(delivery: &str) -> &str {
    delivery.strip_prefix(KEY).unwrap_or(delivery)
}

impl Operations {
    /// Queues a run of a task now, also of one that is paused. The same key gives the first run again, with `true`.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Forbidden` unless by its owner; `Conflict` when too many are queued.
    pub async fn run_task(
        &self,
        actor: UserId,
        task: TaskId,
        key: Option<&str>,
    ) -> Result<(TaskRun, bool), Error> {
        if let Some(key) = key {
            text::nonce("Idempotency-Key", key)?;
        }
        self.must_own(actor, task).await?;
        let mut settings = self.task(actor, task).await?.settings;
        settings.is_active = true;
        self.may_run(actor, &settings).await?;
        let run = NewTaskRun {
            id: TaskRunId::new(),
            task,
            trigger: Trigger::Manual,
            delivery: key.map(|key| format!("{KEY}{key}")),
            input: None,
            max_queued: self.tasks.max_queued,
            trace: trace::traceparent(),
        };
        let queued = self.store.queue_task_run(&run).await?;
        self.announcer.task_due(task);
        Ok((self.task_run(actor, queued.run).await?, queued.repeated))
    }

    /// A run.
    ///
    /// # Errors
    ///
    /// `NotFound` for those who may not read its task.
    pub async fn task_run(&self, reader: UserId, run: TaskRunId) -> Result<TaskRun, Error> {
        Ok(self.store.task_run(reader, run).await?.ok_or(NO_RUN)?)
    }

    /// Runs of a task by id before `before`, newest first, at most `limit`.
    ///
    /// # Errors
    ///
    /// `NotFound` for those who may not read it.
    pub async fn task_runs(
        &self,
        reader: UserId,
        task: TaskId,
        before: Option<TaskRunId>,
        limit: u32,
    ) -> Result<Vec<TaskRun>, Error> {
        Ok(self.store.task_runs(reader, task, before, limit).await?.ok_or(NO_TASK)?)
    }

    /// Stops a run: one that is queued is over, one that is worked on is asked to stop. Again changes nothing.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Forbidden`; `Conflict` when it has come to another end.
    pub async fn cancel_task_run(&self, actor: UserId, run: TaskRunId) -> Result<TaskRun, Error> {
        let run = self.task_run(actor, run).await?;
        self.must_moderate(actor, run.task).await?;
        if run.status.is_over() {
            return stopped(run);
        }
        let task = self.task(actor, run.task).await?;
        let next = after_cancelling(&run, &task, self.store.time().await?)?;
        let cancelled = self.store.cancel_task_run(run.id, task.version, next).await?;
        self.announcer.task_due(task.id);
        stopped(cancelled.ok_or(NO_RUN)?)
    }
}

/// The run, unless it has come to another end than the one that was asked for.
fn stopped(run: TaskRun) -> Result<TaskRun, Error> {
    if run.status.is_over() && run.status != TaskRunStatus::Cancelled {
        return Err(Refusal::Conflict("the run is over").into());
    }
    Ok(run)
}

/// What follows on a run that is cancelled before a worker has it: the tick after the one it was for. What waits meanwhile and was missed by any time
/// counts as missed.
fn after_cancelling(run: &TaskRun, task: &Task, now: Timestamp) -> Result<Next, Error> {
    let settings = &task.settings;
    let (Trigger::Schedule, Some(schedule)) = (run.trigger, settings.schedule.as_deref()) else {
        return Ok(Next::Nothing);
    };
    let schedule = Schedule::parse(schedule, &settings.timezone)?.anchored_at(settings.anchor);
    let at = next_tick(&schedule, settings.misfire, Duration::ZERO, run.scheduled_for, now);
    Ok(Next::Tick { id: at.map(TaskRunId::of_tick).unwrap_or_default(), at })
}
