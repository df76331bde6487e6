//! Making and editing tasks.

use domain::TaskRunId;
use domain::task::Action;
use tokio_postgres::Row;
use uuid::Uuid;

use super::read::read_task;
use super::{
    COUNT_OWN, CREATE, EDIT, HOLD_OWNER, JUDGE, KNOWN, NO_TASK, PLAN, READ, RECALL, REMEMBER, TOO_MANY,
    UNPLAN,
};
use crate::error::Refusal;
use crate::postgres::Postgres;
use crate::postgres::pool::Session;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::tasks::{Hook, HookSignature, NewTask, Task, TaskEdit, TaskSettings};

impl Postgres {
    pub(super) async fn try_create_task(&self, task: &NewTask) -> Result<(Task, bool), Fault> {
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
        Ok((read_task(row)?, true))
    }

    pub(super) async fn try_edit_task(&self, edit: &TaskEdit) -> Result<bool, Fault> {
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
        Ok((read_task(made.first().ok_or(NO_TASK)?)?, false))
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
pub(super) struct StoredHook<'a> {
    pub(super) hash: Option<&'a [u8]>,
    pub(super) signature: Option<&'static str>,
    pub(super) key: Option<&'a [u8]>,
}

impl<'a> StoredHook<'a> {
    pub(super) fn of(hook: Option<&'a Hook>) -> Self {
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
