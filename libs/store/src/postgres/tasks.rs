//! Tasks in PostgreSQL, as people see them.
//!
//! Edits lock the row of the task, then what it has queued. A worker that ends a run of it holds that row shared while it queues what comes
//! next, so the two never plan past each other.

use async_trait::async_trait;
use domain::{TaskId, TaskRunId, UserId};
use jiff::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::StoreError;
use crate::postgres::interval::micros;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::transaction::Step;
use crate::postgres::{Postgres, repeated};
use crate::queue::Next;
use crate::retention::{TaskRunLimits, TrimmedTaskRuns};
use crate::tasks::stored::{FULL, NO_TASK, PAUSED, SCHEDULER, StoredHook, signature};
use crate::tasks::{
    CalledHook, Hook, HookSignature, NewTask, NewTaskRun, Queued, SigningKey, Task, TaskEdit, TaskFilter,
    TaskRights, TaskRun, Tasks,
};

mod read;
mod write;

use read::{read_run, read_task};

statements! {
    JUDGE = "tasks/judge";
    REMEMBER = "tasks/remember";
    RECALL = "tasks/recall";
    HOLD_OWNER = "tasks/hold_owner";
    COUNT_OWN = "tasks/count_own";
    CREATE = "tasks/create";
    PLAN = "tasks/plan";
    UNPLAN = "tasks/unplan";
    EDIT = "tasks/edit";
    KNOWN = "tasks/known";
    DELETE = "tasks/delete";
    STOP_ALL = "tasks/stop_all";
    DROP_QUEUED = "tasks/drop_queued";
    SET_HOOK = "tasks/set_hook";
    SET_WEBHOOK_KEY = "tasks/set_webhook_key";
    HOOK = "tasks/hook";
    RIGHTS = "tasks/rights";
    READ = "tasks/read";
    LIST_OWN = "tasks/list_own";
    LIST_ROOM = "tasks/list_room";
    LIST_ALL = "tasks/list_all";
    QUEUE_RUN = "tasks/queue_run";
    DELIVERED = "tasks/delivered";
    RUN = "tasks/run";
    RUNS = "tasks/runs";
    FOUND = "tasks/found";
    STOP_RUN = "tasks/stop_run";
    CANCEL_QUEUED = "tasks/cancel_queued";
    SWITCH = "tasks/switch";
    SWITCHED = "tasks/switched";
    TIME = "tasks/time";
    TRIM = "tasks/trim";
    TRIM_DELIVERIES = "tasks/trim_deliveries";
    BURY = "tasks/bury";
}

#[async_trait]
impl Tasks for Postgres {
    async fn create_task(&self, task: &NewTask) -> Result<(Task, bool), StoreError> {
        repeated!(self.try_create_task(task))
    }

    async fn task(&self, reader: UserId, id: TaskId) -> Result<Option<Task>, StoreError> {
        Ok(self.row(READ, &[&reader.0, &id.0]).await?.as_ref().map(read_task).transpose()?)
    }

    async fn tasks(
        &self,
        reader: UserId,
        filter: TaskFilter,
        before: Option<TaskId>,
        limit: u32,
    ) -> Result<Vec<Task>, StoreError> {
        let (before, limit) = (before.map(Uuid::from), i64::from(limit));
        let rows = match filter {
            TaskFilter::Own => self.rows(LIST_OWN, &[&reader.0, &before, &limit]).await?,
            TaskFilter::Room(room) => self.rows(LIST_ROOM, &[&reader.0, &before, &limit, &room.0]).await?,
            TaskFilter::All => self.rows(LIST_ALL, &[&reader.0, &before, &limit]).await?,
        };
        Ok(rows.iter().map(read_task).collect::<Result<_, Fault>>()?)
    }

    async fn task_rights(&self, user: UserId, task: TaskId) -> Result<Option<TaskRights>, StoreError> {
        let row = self.row(RIGHTS, &[&user.0, &task.0]).await?;
        let rights = |row: Row| match row.value("rights")? {
            "owner" => Ok(TaskRights::Owner),
            "moderator" => Ok(TaskRights::Moderator),
            "reader" => Ok(TaskRights::Reader),
            other => Err(Fault::internal(format!("rights {other:?}"))),
        };
        Ok(row.map(rights).transpose()?)
    }

    async fn edit_task(&self, edit: &TaskEdit) -> Result<bool, StoreError> {
        let edited = repeated!(self.try_edit_task(edit))?;
        if edited && edit.replan {
            // What was thrown away may have stood in the way of a run that was asked for.
            self.unblock_next(&[edit.id.0]).await;
        }
        Ok(edited)
    }

    async fn delete_task(&self, id: TaskId) -> Result<bool, StoreError> {
        repeated!(async {
            let steps: [Step<'_>; 3] = [(DELETE, &[&id.0]), (STOP_ALL, &[&id.0]), (DROP_QUEUED, &[&id.0])];
            let [deleted, ..] = self.session().await?.transact(steps).await?;
            Ok(!deleted.is_empty())
        })
    }

    async fn set_hook(&self, id: TaskId, hook: Option<&Hook>) -> Result<bool, StoreError> {
        let hook = StoredHook::of(hook);
        Ok(self.row(SET_HOOK, &[&id.0, &hook.hash, &hook.signature, &hook.key]).await?.is_some())
    }

    async fn set_webhook_key(&self, id: TaskId, key: &SigningKey) -> Result<bool, StoreError> {
        Ok(self.row(SET_WEBHOOK_KEY, &[&id.0, &key.0.as_slice()]).await?.is_some())
    }

    async fn hook(&self, hash: &[u8; 32]) -> Result<Option<CalledHook>, StoreError> {
        let row = self.row(HOOK, &[&hash.as_slice()]).await?;
        let called = |row: Row| {
            Ok::<_, Fault>(CalledHook {
                task: TaskId(row.value("id")?),
                signature: signature(row.value("hook_signature")?)?.unwrap_or(HookSignature::None),
                key: row.value::<Option<Vec<u8>>>("hook_key")?.map(SigningKey),
            })
        };
        Ok(row.map(called).transpose()?)
    }

    async fn queue_task_run(&self, run: &NewTaskRun) -> Result<Queued, StoreError> {
        let row = self
            .row(
                QUEUE_RUN,
                &[
                    &run.id.0,
                    &run.task.0,
                    &run.trigger.as_str(),
                    &run.delivery,
                    &run.input,
                    &i64::from(run.max_queued),
                    &run.trace.as_deref(),
                ],
            )
            .await?
            .ok_or(NO_TASK)?;
        match row.value::<Option<&str>>("state")? {
            Some("blocked") => {
                self.unblock_next(&[run.task.0]).await;
            }
            Some(_) => {}
            None => return self.not_queued(run, &row).await,
        }
        Ok(Queued { run: run.id, repeated: false })
    }

    async fn task_run(&self, reader: UserId, id: TaskRunId) -> Result<Option<TaskRun>, StoreError> {
        Ok(self.row(RUN, &[&reader.0, &id.0]).await?.as_ref().map(read_run).transpose()?)
    }

    async fn task_runs(
        &self,
        reader: UserId,
        task: TaskId,
        before: Option<TaskRunId>,
        limit: u32,
    ) -> Result<Option<Vec<TaskRun>>, StoreError> {
        if self.task_rights(reader, task).await?.is_none() {
            return Ok(None);
        }
        let rows = self.rows(RUNS, &[&task.0, &before.map(Uuid::from), &i64::from(limit)]).await?;
        Ok(Some(rows.iter().map(read_run).collect::<Result<_, Fault>>()?))
    }

    async fn cancel_task_run(
        &self,
        id: TaskRunId,
        version: u64,
        next: Next,
    ) -> Result<Option<TaskRun>, StoreError> {
        // A run that a worker takes, or hands back, between the two is met by the next try.
        for _ in 0..3 {
            if self.row(STOP_RUN, &[&id.0]).await?.is_some() {
                break;
            }
            let (tick, at) = next.tick().map_or((None, None), |(tick, at)| (Some(tick.0), at));
            if let Some(row) = self.row(CANCEL_QUEUED, &[&id.0, &bigint(version), &tick, &at]).await? {
                self.unblock_next(&[row.value("task_id")?]).await;
                break;
            }
        }
        Ok(self.row(FOUND, &[&id.0]).await?.as_ref().map(read_run).transpose()?)
    }

    async fn time(&self) -> Result<Timestamp, StoreError> {
        let row = self.row(TIME, &[]).await?;
        let row = row.ok_or_else(|| Fault::internal("tasks/time gave no row"))?;
        Ok(row.value("now")?)
    }

    async fn scheduler_enabled(&self) -> Result<bool, StoreError> {
        let row = self.row(SWITCHED, &[&SCHEDULER]).await?;
        let row = row.ok_or_else(|| Fault::internal("tasks/switched gave no row"))?;
        Ok(row.value("enabled")?)
    }

    async fn switch_scheduler(&self, by: UserId, enabled: bool) -> Result<(), StoreError> {
        self.rows(SWITCH, &[&SCHEDULER, &enabled, &by.0]).await?;
        Ok(())
    }
}

impl Postgres {
    /// `Retention::trim_task_runs`.
    pub(super) async fn trim_history(
        &self,
        limits: TaskRunLimits,
        after: Option<TaskId>,
        batch: u32,
    ) -> Result<TrimmedTaskRuns, StoreError> {
        let most = i64::from(batch);
        let (max_age, per_task) = (micros(limits.max_age), i64::from(limits.max_per_task));
        let row = self.row(TRIM, &[&after.map(Uuid::from), &max_age, &per_task, &most]).await?;
        let row = row.ok_or_else(|| Fault::internal("tasks/trim gave no row"))?;
        let runs = row.count("runs")?;
        let deliveries = self.rows(TRIM_DELIVERIES, &[&micros(limits.deliveries), &most]).await?.len() as u64;
        let tasks = self.rows(BURY, &[&most]).await?.len() as u64;
        let last = row.value::<Option<Uuid>>("next")?.map(TaskId);
        Ok(TrimmedTaskRuns { runs, deliveries, tasks, next: None }.going_on(batch, after, last))
    }

    /// Why a run was not queued: it was before, or may not be.
    async fn not_queued(&self, run: &NewTaskRun, row: &Row) -> Result<Queued, StoreError> {
        if let Some(delivery) = &run.delivery
            && let Some(known) = self.row(DELIVERED, &[&run.task.0, delivery]).await?
        {
            return Ok(Queued { run: TaskRunId(known.value("run_id")?), repeated: true });
        }
        let refusal = if row.value("listens")? { FULL } else { PAUSED };
        Err(refusal.into())
    }
}
