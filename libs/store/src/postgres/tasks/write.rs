//! Making and editing tasks.

use domain::TaskRunId;
use tokio_postgres::Row;
use uuid::Uuid;

use super::read::read_task;
use super::{COUNT_OWN, CREATE, EDIT, HOLD_OWNER, JUDGE, KNOWN, PLAN, READ, RECALL, REMEMBER, UNPLAN};
use crate::error::Refusal;
use crate::postgres::Postgres;
use crate::postgres::pool::Session;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::tasks::stored::{Judged, NO_TASK, Stored, StoredHook, TOO_MANY};
use crate::tasks::{NewTask, Task, TaskEdit};

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
    let judged =
        Judged { may: row.value("may")?, room_in: row.value("room_in")?, agent_in: row.value("agent_in")? };
    Ok(judged.verdict()?)
}
