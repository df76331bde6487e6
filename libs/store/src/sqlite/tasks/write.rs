//! Making and editing tasks.

use domain::{TaskId, TaskRunId};
use jiff::Timestamp;
use uuid::Uuid;

use super::read::read_task;
use super::{COUNT_OWN, CREATE, EDIT, JUDGE, KNOWN, PLAN, PLANNED, READ, RECALL, REMEMBER};
use crate::error::Refusal;
use crate::number::bigint;
use crate::sqlite::fault::Fault;
use crate::sqlite::queue::finish::{End, QueuedRun, drop_run, record};
use crate::sqlite::queue::line::unblock;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::Micros;
use crate::tasks::stored::{Judged, NO_TASK, Stored, StoredHook, TOO_MANY};
use crate::tasks::{NewTask, Task, TaskEdit};

/// Makes a task with its first tick; the task that the same key made, if one did.
pub(super) fn create(tx: &Tx<'_>, task: &NewTask) -> Result<(Task, bool), Fault> {
    if let Some(key) = &task.key
        && let Some(made) = made_before(tx, task, key)?
    {
        return Ok((made, false));
    }
    let (id, owner, stored) = (task.id.0, task.owner.0, Stored::of(&task.settings)?);
    judge(tx, owner, &stored)?;
    let own = tx.row(COUNT_OWN, &[&owner], |row| row.count("tasks"))?.unwrap_or_default();
    if own >= u64::from(task.max_per_owner) {
        return Err(TOO_MANY.into());
    }
    if let Some(key) = &task.key {
        tx.execute(REMEMBER, &[&owner, key, &id, &tx.micros()])?;
    }
    let (s, hook) = (&task.settings, StoredHook::of(task.hook.as_ref()));
    tx.execute(
        CREATE,
        &[
            &id,
            &owner,
            &s.name,
            &s.schedule,
            &s.timezone,
            &Micros(s.anchor),
            &stored.action,
            &stored.room,
            &s.is_active,
            &stored.cost,
            &stored.max_runtime,
            &stored.retries,
            &s.misfire.as_str(),
            &task.first.map(Micros),
            &hook.hash,
            &hook.signature,
            &hook.key,
            &task.webhook_key.as_ref().map(|key| key.0.as_slice()),
            &tx.micros(),
        ],
    )?;
    plan(tx, task.id, task.first)?;
    // The id may be that of somebody else's.
    let made = tx.row(READ, &[&owner, &id], read_task)?.ok_or(Refusal::NonceReused)?;
    Ok((made, true))
}

/// Edits a task; `false` when it has another version by now.
pub(super) fn edit(tx: &Tx<'_>, edit: &TaskEdit) -> Result<bool, Fault> {
    let (id, s, stored) = (edit.id.0, &edit.settings, Stored::of(&edit.settings)?);
    let owner = tx.row(
        EDIT,
        &[
            &id,
            &bigint(edit.version),
            &s.name,
            &s.schedule,
            &s.timezone,
            &Micros(s.anchor),
            &stored.action,
            &stored.room,
            &s.is_active,
            &stored.cost,
            &stored.max_runtime,
            &stored.retries,
            &s.misfire.as_str(),
            &edit.next.map(Micros),
            &edit.webhook_key.as_ref().map(|key| key.0.as_slice()),
            &edit.replan,
            &tx.micros(),
        ],
        |row| row.value("owner_id"),
    )?;
    let Some(owner) = owner else {
        return if tx.exists(KNOWN, &[&id])? { Ok(false) } else { Err(NO_TASK.into()) };
    };
    // Whoever lost the right may still pause it.
    if s.is_active {
        judge(tx, owner, &stored)?;
    }
    if edit.replan {
        unplan(tx, edit.id)?;
        plan(tx, edit.id, edit.next)?;
        // What was thrown away may have stood in the way of a run that was asked for.
        unblock(tx, [edit.id])?;
    }
    Ok(true)
}

/// What a key made.
fn made_before(tx: &Tx<'_>, task: &NewTask, key: &str) -> Result<Option<Task>, Fault> {
    let owner = task.owner.0;
    let recalled = tx.row(RECALL, &[&owner, &key], |row| {
        Ok((row.text("subject")? == "task", row.value::<Uuid>("created_id")?))
    })?;
    let Some((is_task, id)) = recalled else { return Ok(None) };
    if !is_task {
        return Err(Refusal::NonceReused.into());
    }
    Ok(Some(tx.row(READ, &[&owner, &id], read_task)?.ok_or(NO_TASK)?))
}

/// Whether a task may be made or become so.
fn judge(tx: &Tx<'_>, owner: Uuid, stored: &Stored) -> Result<(), Fault> {
    let judged = tx.row(JUDGE, &[&owner, &stored.room, &stored.agent], |row| {
        Ok(Judged {
            may: row.value("may")?,
            room_in: row.value("room_in")?,
            agent_in: row.value("agent_in")?,
        })
    })?;
    Ok(judged.ok_or_else(|| Fault::internal("tasks/judge gave no row"))?.verdict()?)
}

/// Queues the next tick, if there is one and the task has none.
fn plan(tx: &Tx<'_>, task: TaskId, at: Option<Timestamp>) -> Result<(), Fault> {
    if let Some(at) = at {
        tx.execute(PLAN, &[&TaskRunId::of_tick(at).0, &task.0, &Micros(at), &tx.micros()])?;
    }
    Ok(())
}

/// Throws away the tick, or the attempt at it, that no worker has begun. What was shown as a run is kept as a cancelled one.
fn unplan(tx: &Tx<'_>, task: TaskId) -> Result<(), Fault> {
    let Some(run) = tx.row(PLANNED, &[&task.0], QueuedRun::read)? else { return Ok(()) };
    if !run.is_tick() {
        record(tx, &run, &End::cancelled("the task was paused, or given other times"))?;
    }
    drop_run(tx, &run)
}
