//! Runs that are over, and what comes after them.

use std::collections::HashMap;
use std::time::Duration;

use domain::task::{TaskRunStatus, Trigger};
use domain::{TaskId, TaskRunId, WorkerSessionId};
use jiff::Timestamp;
use rusqlite::Row;
use uuid::Uuid;

use super::{DROP, HOLDER, KEPT, QUEUED, RECORD, RETRY};
use crate::queue::{FinishedRun, Next};
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::tasks::PLAN;
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::Micros;

/// Whose runs are over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sessions {
    /// Those of sessions that are good, which say so themselves.
    Good,
    /// Those of sessions that are over.
    Over,
}

/// A session that may end runs.
#[derive(Clone, Copy)]
struct Holder {
    node: Option<Uuid>,
}

/// A run that is not over, or the tick that its task waits for.
pub(in crate::sqlite) struct QueuedRun {
    pub(in crate::sqlite) id: TaskRunId,
    pub(in crate::sqlite) task: TaskId,
    trigger: Trigger,
    attempt: u32,
    epoch: u64,
    worker: Option<Uuid>,
    waits: bool,
}

impl QueuedRun {
    pub(in crate::sqlite) fn read(row: &Row<'_>) -> Result<Self, Fault> {
        Ok(Self {
            id: TaskRunId(row.value("id")?),
            task: TaskId(row.value("task_id")?),
            trigger: row.named("trigger")?,
            attempt: row.value("attempt")?,
            epoch: row.count("epoch")?,
            worker: row.value("worker_id")?,
            waits: row.text("state")? == "waiting",
        })
    }

    /// Whether it is a tick that nothing has been tried for, which is no run.
    pub(in crate::sqlite) fn is_tick(&self) -> bool {
        self.waits && self.trigger == Trigger::Schedule && self.attempt == 1
    }

    /// Whether a worker has it.
    pub(in crate::sqlite) const fn is_running(&self) -> bool {
        self.worker.is_some()
    }
}

/// A run that is not over.
pub(in crate::sqlite) fn queued(tx: &Tx<'_>, run: TaskRunId) -> Result<Option<QueuedRun>, Fault> {
    tx.row(QUEUED, &[&run.0], QueuedRun::read)
}

/// What of a task says what comes after a run of it.
pub(in crate::sqlite) struct Kept {
    planned_by: u64,
    planned_for: Option<Timestamp>,
    cost: i64,
    is_active: bool,
}

/// A task that is not deleted.
pub(in crate::sqlite) fn kept(tx: &Tx<'_>, task: TaskId) -> Result<Option<Kept>, Fault> {
    tx.row(KEPT, &[&task.0], |row| {
        Ok(Kept {
            planned_by: row.count("planned_by")?,
            planned_for: row.time_if_any("planned_for")?,
            cost: row.value("cost")?,
            is_active: row.value("is_active")?,
        })
    })
}

/// What becomes of a run that is over.
#[derive(Debug, PartialEq, Eq)]
enum Follows {
    Attempt(TaskRunId, Duration),
    Tick(TaskRunId, Timestamp),
    Nothing,
}

impl Kept {
    /// The next attempt or, when there is none, the next tick. Of a task that was planned anew since `version` the tick is the one that the
    /// edit planned; of one that is paused there is none.
    fn follows(&self, trigger: Trigger, version: u64, next: Next) -> Follows {
        let (ticks, planned_anew) = (trigger == Trigger::Schedule, self.planned_by > version);
        if let Next::Retry { id, after, .. } = next
            && (!ticks || (self.is_active && !planned_anew))
        {
            return Follows::Attempt(id, after);
        }
        let Some((id, at)) = next.tick().filter(|_| ticks && self.is_active) else { return Follows::Nothing };
        let at = if planned_anew { self.planned_for } else { at };
        at.map_or(Follows::Nothing, |at| Follows::Tick(id, at))
    }
}

/// How a run ended.
pub(in crate::sqlite) struct End<'a> {
    pub(in crate::sqlite) status: TaskRunStatus,
    pub(in crate::sqlite) node: Option<Uuid>,
    pub(in crate::sqlite) error: Option<&'a str>,
    pub(in crate::sqlite) output: Option<&'a str>,
}

impl<'a> End<'a> {
    /// One that no worker has begun.
    pub(in crate::sqlite) const fn cancelled(why: &'a str) -> Self {
        Self { status: TaskRunStatus::Cancelled, node: None, error: Some(why), output: None }
    }
}

/// Records runs that are over, each if it is its session's still, and queues what comes after them. Those that were, and their tasks.
pub(super) fn finish(
    tx: &Tx<'_>,
    runs: &[(WorkerSessionId, FinishedRun)],
    of: Sessions,
) -> Result<Vec<(TaskRunId, TaskId)>, Fault> {
    let (mut holders, mut over) = (HashMap::new(), Vec::new());
    for (session, finished) in runs {
        let holder = match holders.get(session) {
            Some(known) => *known,
            None => {
                let holder = holder(tx, *session, of)?;
                holders.insert(*session, holder);
                holder
            }
        };
        let Some(Holder { node }) = holder else { continue };
        let Some(run) = queued(tx, finished.run)? else { continue };
        if run.worker != Some(session.0) || run.epoch != finished.epoch {
            continue;
        }
        let end = End {
            status: finished.end.status(),
            node,
            error: finished.error.as_deref(),
            output: finished.output.as_deref(),
        };
        record(tx, &run, &end)?;
        let kept = if finished.next == Next::Nothing { None } else { kept(tx, run.task)? };
        follow(tx, &run, kept.as_ref(), finished.version, finished.next)?;
        over.push((run.id, run.task));
    }
    Ok(over)
}

fn holder(tx: &Tx<'_>, session: WorkerSessionId, of: Sessions) -> Result<Option<Holder>, Fault> {
    let found = tx.row(HOLDER, &[&session.0, &tx.micros()], |row| {
        Ok((row.value::<Uuid>("node_id")?, row.value::<bool>("is_good")?))
    })?;
    let holder = found.filter(|(_, is_good)| *is_good == (of == Sessions::Good));
    // Whom runs are given to that hang is nowhere.
    Ok(holder.map(|(node, _)| Holder { node: Some(node).filter(|node| !node.is_nil()) }))
}

/// Records a run as over. It stays in the queue until [`follow`].
pub(in crate::sqlite) fn record(tx: &Tx<'_>, run: &QueuedRun, end: &End<'_>) -> Result<(), Fault> {
    tx.execute(RECORD, &[&run.id.0, &end.status.as_str(), &end.node, &tx.micros(), &end.error, &end.output])
        .map(drop)
}

/// Replaces a run by what comes after it; `version` is that of the task which `next` was made from. After one of a task that was deleted
/// comes nothing.
pub(in crate::sqlite) fn follow(
    tx: &Tx<'_>,
    run: &QueuedRun,
    kept: Option<&Kept>,
    version: u64,
    next: Next,
) -> Result<(), Fault> {
    let follows = kept.map_or(Follows::Nothing, |kept| kept.follows(run.trigger, version, next));
    match (follows, kept) {
        (Follows::Attempt(id, after), Some(kept)) => {
            tx.execute(RETRY, &[&run.id.0, &id.0, &kept.cost, &tx.after(after), &tx.micros()])?;
        }
        (Follows::Tick(id, at), _) => {
            drop_run(tx, run)?;
            tx.execute(PLAN, &[&id.0, &run.task.0, &Micros(at), &tx.micros()])?;
        }
        _ => drop_run(tx, run)?,
    }
    Ok(())
}

/// Removes a run from the queue.
pub(in crate::sqlite) fn drop_run(tx: &Tx<'_>, run: &QueuedRun) -> Result<(), Fault> {
    tx.execute(DROP, &[&run.id.0]).map(drop)
}
