//! Tasks in PostgreSQL, as people see them.
//!
//! Edits lock the row of the task, then what it has queued. A worker that ends a run of it holds that row shared while it queues what comes
//! next, so the two never plan past each other.

use std::time::Duration;

use async_trait::async_trait;
use domain::task::{Action, Priority, QueueReason, QueueState};
use domain::{NodeId, TaskId, TaskRunId, UserId};
use jiff::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Refusal, StoreError};
use crate::postgres::interval::micros;
use crate::postgres::pool::Session;
use crate::postgres::queue::{number, tick};
use crate::postgres::row::{Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::transaction::Step;
use crate::postgres::{Postgres, repeated};
use crate::queue::Next;
use crate::retention::{TaskRunLimits, TrimmedTaskRuns};
use crate::tasks::{
    CalledHook, Hook, HookSignature, NewTask, NewTaskRun, Queued, SigningKey, Task, TaskEdit, TaskFilter,
    TaskRights, TaskRun, TaskSettings, Tasks,
};

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

const NO_TASK: Refusal = Refusal::NotFound("task");
const PAUSED: Refusal = Refusal::Conflict("the task is paused");
const FULL: Refusal = Refusal::Conflict("as many runs of the task are queued as may be");
const TOO_MANY: Refusal =
    Refusal::Conflict("you have as many tasks as one person may have; delete some first");
const SCHEDULER: &str = "scheduler";

#[async_trait]
impl Tasks for Postgres {
    async fn create_task(&self, task: &NewTask) -> Result<(Task, bool), StoreError> {
        repeated!(self.try_create_task(task))
    }

    async fn task(&self, reader: UserId, id: TaskId) -> Result<Option<Task>, StoreError> {
        Ok(self.row(READ, &[&reader.0, &id.0]).await?.as_ref().map(read).transpose()?)
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
        Ok(rows.iter().map(read).collect::<Result<_, Fault>>()?)
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

    async fn hook(&self, hash: &[u8; 32]) -> Result<Option<CalledHook>, StoreError> {
        let row = self.row(HOOK, &[&hash.as_slice()]).await?;
        let called = |row: Row| {
            Ok::<_, Fault>(CalledHook {
                task: TaskId(row.value("id")?),
                signature: signature(row.value("hook_signature")?)?.unwrap_or(HookSignature::None),
                key: row.value::<Option<Vec<u8>>>("hook_key")?.map(SigningKey),
                is_active: row.value("is_active")?,
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
            let (tick, at) = tick(next).map_or((None, None), |(tick, at)| (Some(tick), at));
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
        let full = u64::from(batch);
        let next = if runs >= full {
            // There is more of the same page.
            Some(after.unwrap_or(TaskId(Uuid::nil())))
        } else {
            row.value::<Option<Uuid>>("next")?.map(TaskId)
        };
        // Behind the last task there may be more of what lies in no page.
        let next = next.or((deliveries >= full || tasks >= full).then_some(TaskId(Uuid::max())));
        Ok(TrimmedTaskRuns { runs, deliveries, tasks, next })
    }

    async fn try_create_task(&self, task: &NewTask) -> Result<(Task, bool), Fault> {
        let (id, owner) = (task.id.0, task.owner.0);
        let stored = Stored::of(&task.settings)?;
        let hook = StoredHook::of(task.hook.as_ref());
        let session = self.session().await?;
        if let Some(key) = &task.key {
            let recalled = session.query(RECALL, &[&owner, key]).await?;
            if let Some(row) = recalled.first() {
                return session.made_before(task, row).await;
            }
        }
        let (transaction, [_, counted, judged]) = session
            .begin([
                (HOLD_OWNER, &[&owner]),
                (COUNT_OWN, &[&owner]),
                (JUDGE, &[&owner, &stored.room, &stored.agent]),
            ])
            .await?;
        let (transaction, ()) = transaction.decided(judge(&judged)).await?;
        if let Some(key) = &task.key {
            let [remembered] = transaction.run([(REMEMBER, &[&owner, key, &id])]).await?;
            if remembered.is_empty() {
                // Somebody else used it at the same time; the next try finds what for.
                transaction.rollback().await;
                return Err(Fault::Contended("tasks/remember".into()));
            }
        }
        // After the key: a task that it made at the same time counts, too.
        let (transaction, ()) = transaction.decided(has_room(&counted, task.max_per_owner)).await?;
        let s = &task.settings;
        let webhook_key = task.webhook_key.as_ref().map(|key| key.0.as_slice());
        let tick = task.first.map(TaskRunId::of_tick).unwrap_or_default();
        let [_, _, rows] = transaction
            .commit([
                (
                    CREATE,
                    &[
                        &id,
                        &owner,
                        &s.name,
                        &s.schedule,
                        &s.timezone,
                        &s.anchor,
                        &stored.action,
                        &stored.room,
                        &s.is_active,
                        &stored.cost,
                        &stored.max_runtime,
                        &stored.retries,
                        &s.misfire.as_str(),
                        &task.first,
                        &hook.hash,
                        &hook.signature,
                        &hook.key,
                        &webhook_key,
                    ],
                ),
                (PLAN, &[&tick.0, &id, &task.first]),
                (READ, &[&owner, &id]),
            ])
            .await?;
        let row = rows.first().ok_or(Refusal::NonceReused)?;
        Ok((read(row)?, true))
    }

    async fn try_edit_task(&self, edit: &TaskEdit) -> Result<bool, Fault> {
        let (id, s) = (edit.id.0, &edit.settings);
        let stored = Stored::of(s)?;
        let webhook_key = edit.webhook_key.as_ref().map(|key| key.0.as_slice());
        let session = self.session().await?;
        let (transaction, [edited]) = session
            .begin([(
                EDIT,
                &[
                    &id,
                    &bigint(edit.version),
                    &s.name,
                    &s.schedule,
                    &s.timezone,
                    &s.anchor,
                    &stored.action,
                    &stored.room,
                    &s.is_active,
                    &stored.cost,
                    &stored.max_runtime,
                    &stored.retries,
                    &s.misfire.as_str(),
                    &edit.next,
                    &webhook_key,
                    &edit.replan,
                ],
            )])
            .await?;
        let Some(row) = edited.first() else {
            let [known] = transaction.commit([(KNOWN, &[&id])]).await?;
            return if known.is_empty() { Err(NO_TASK.into()) } else { Ok(false) };
        };
        let owner: Uuid = row.value("owner_id")?;
        let [judged] = transaction.run([(JUDGE, &[&owner, &stored.room, &stored.agent])]).await?;
        // Whoever lost the right may still pause it.
        let judged = if s.is_active { judge(&judged) } else { Ok(()) };
        let (transaction, ()) = transaction.decided(judged).await?;
        if !edit.replan {
            transaction.commit([]).await?;
            return Ok(true);
        }
        let tick = edit.next.map(TaskRunId::of_tick).unwrap_or_default();
        transaction.commit([(UNPLAN, &[&id]), (PLAN, &[&tick.0, &id, &edit.next])]).await?;
        Ok(true)
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

/// Whether an owner may have one task more, by `tasks/count_own`.
fn has_room(counted: &[Row], max: u32) -> Result<(), Fault> {
    let row = counted.first().ok_or_else(|| Fault::internal("tasks/count_own gave no row"))?;
    if row.count("tasks")? < u64::from(max) { Ok(()) } else { Err(TOO_MANY.into()) }
}

impl Session {
    /// What a key made, read on the connection that is held already: who holds one and waits for another may wait for ever.
    async fn made_before(&self, task: &NewTask, recalled: &Row) -> Result<(Task, bool), Fault> {
        if recalled.value::<&str>("subject")? != "task" {
            return Err(Refusal::NonceReused.into());
        }
        let id: Uuid = recalled.value("created_id")?;
        let made = self.query(READ, &[&task.owner.0, &id]).await?;
        Ok((read(made.first().ok_or(NO_TASK)?)?, false))
    }
}

/// What `tasks/judge` says.
fn judge(rows: &[Row]) -> Result<(), Fault> {
    let row = rows.first().ok_or_else(|| Fault::internal("tasks/judge gave no row"))?;
    if !row.value::<bool>("may")? {
        return Err(Refusal::Forbidden.into());
    }
    if !row.value::<bool>("room_in")? {
        return Err(Refusal::NotFound("room").into());
    }
    if !row.value::<bool>("agent_in")? {
        return Err(Refusal::NotFound("agent").into());
    }
    Ok(())
}

/// Settings as they are stored.
struct Stored {
    action: String,
    room: Option<Uuid>,
    agent: Option<Uuid>,
    cost: i64,
    max_runtime: i64,
    retries: i32,
}

impl Stored {
    fn of(settings: &TaskSettings) -> Result<Self, Fault> {
        let agent = match settings.action {
            Action::AgentRun { agent_id, .. } => Some(agent_id.0),
            _ => None,
        };
        Ok(Self {
            action: serde_json::to_string(&settings.action)
                .map_err(|error| Fault::internal(format!("an action: {error}")))?,
            room: settings.action.room().map(Uuid::from),
            agent,
            cost: settings.priority.cost(),
            max_runtime: i64::try_from(settings.max_runtime.as_millis()).unwrap_or(i64::MAX),
            retries: i32::try_from(settings.retries).unwrap_or(i32::MAX),
        })
    }
}

/// A hook, or none, as it is stored.
struct StoredHook<'a> {
    hash: Option<&'a [u8]>,
    signature: Option<&'static str>,
    key: Option<&'a [u8]>,
}

impl<'a> StoredHook<'a> {
    fn of(hook: Option<&'a Hook>) -> Self {
        Self {
            hash: hook.map(|hook| hook.hash.as_slice()),
            signature: hook.map(|hook| match hook.signature {
                HookSignature::None => "none",
                HookSignature::Standard => "standard",
                HookSignature::Github => "github",
            }),
            key: hook.and_then(|hook| hook.key.as_ref()).map(|key| key.0.as_slice()),
        }
    }
}

fn signature(text: Option<&str>) -> Result<Option<HookSignature>, Fault> {
    match text {
        None => Ok(None),
        Some("none") => Ok(Some(HookSignature::None)),
        Some("standard") => Ok(Some(HookSignature::Standard)),
        Some("github") => Ok(Some(HookSignature::Github)),
        Some(other) => Err(Fault::internal(format!("a hook with signature {other:?}"))),
    }
}

fn read(row: &Row) -> Result<Task, Fault> {
    let action: &str = row.value("action_text")?;
    let waiting = row.value::<Option<&str>>("tick_state")?.is_some_and(|state| state != "running");
    Ok(Task {
        id: TaskId(row.value("id")?),
        owner: UserId(row.value("owner_id")?),
        settings: TaskSettings {
            name: row.value("name")?,
            schedule: row.value("schedule")?,
            timezone: row.value("timezone")?,
            anchor: row.value("anchor")?,
            action: serde_json::from_str(action)
                .map_err(|error| Fault::internal(format!("a stored action: {error}")))?,
            is_active: row.value("is_active")?,
            priority: Priority::from_cost(row.value("cost")?)
                .ok_or_else(|| Fault::internal("a task of no priority"))?,
            max_runtime: Duration::from_millis(row.count("max_runtime_ms")?),
            retries: number(row, "retries")?,
            misfire: row.named("misfire")?,
        },
        version: row.count("version")?,
        hook: signature(row.value("hook_signature")?)?,
        next_run_at: if waiting { row.value("tick_due_at")? } else { None },
        last_run_at: row.value("last_run_at")?,
        run_count: row.count("run_count")?,
        created_at: row.value("created_at")?,
        updated_at: row.value("updated_at")?,
    })
}

fn read_run(row: &Row) -> Result<TaskRun, Fault> {
    let attempt = number(row, "attempt")?;
    let (status, reason) = match row.value::<Option<&str>>("state")? {
        Some(state) => {
            let state: QueueState =
                state.parse().map_err(|error: domain::Invalid| Fault::internal(error.to_string()))?;
            (state.into(), QueueReason::of(state, attempt, row.value("enabled")?))
        }
        None => (row.named("status")?, None),
    };
    Ok(TaskRun {
        id: TaskRunId(row.value("id")?),
        task: TaskId(row.value("task_id")?),
        status,
        reason,
        trigger: row.named("trigger")?,
        attempt,
        epoch: row.count("epoch")?,
        node: row.value::<Option<Uuid>>("node_id")?.map(NodeId),
        lease_expires_at: row.value("lease_until")?,
        scheduled_for: row.value("scheduled_for")?,
        created_at: row.value("created_at")?,
        started_at: row.value("started_at")?,
        finished_at: row.value("finished_at")?,
        delivery: row.value("delivery_id")?,
        cancel_requested: row.value("cancel_requested")?,
        error: row.value("error")?,
        output: row.value("output")?,
    })
}
