//! Runs that are asked for, shown and cancelled.

use domain::task::{QueueState, Trigger};
use domain::{TaskId, TaskRunId};
use uuid::Uuid;

use super::read::read_run;
use super::{ASKED, DELIVER, DELIVERED, FOUND, NEWEST_RUNS, PARKED, QUEUE_RUN, STOP_RUN};
use crate::queue::Next;
use crate::sqlite::fault::Fault;
use crate::sqlite::queue::finish::{End, follow, kept, queued, record};
use crate::sqlite::queue::line::{Line, unblock};
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;
use crate::tasks::stored::{FULL, NO_TASK, PAUSED};
use crate::tasks::{NewTaskRun, Queued, TaskRun};

/// A task of which a run is asked for.
struct Asked {
    owner: Uuid,
    cost: i64,
    /// Whether its hook is listened to.
    listens: bool,
}

/// Queues a run that is asked for: ready, or blocked while another run of the task is.
pub(super) fn queue(tx: &Tx<'_>, run: &NewTaskRun) -> Result<Queued, Fault> {
    let asked = tx.row(ASKED, &[&run.task.0], |row| {
        Ok(Asked { owner: row.value("owner_id")?, cost: row.value("cost")?, listens: row.value("listens")? })
    })?;
    let Asked { owner, cost, listens } = asked.ok_or(NO_TASK)?;
    if let Some(delivery) = &run.delivery
        && let Some(known) = tx.row(DELIVERED, &[&run.task.0, delivery], |row| row.value("run_id"))?
    {
        return Ok(Queued { run: TaskRunId(known), repeated: true });
    }
    if run.trigger == Trigger::Webhook && !listens {
        return Err(PAUSED.into());
    }
    let parked = tx.row(PARKED, &[&run.task.0, &run.max_queued], |row| {
        Ok((row.count("runs")?, row.value::<bool>("busy")?))
    })?;
    let (parked, busy) = parked.ok_or_else(|| Fault::internal("tasks/parked gave no row"))?;
    if parked >= u64::from(run.max_queued) {
        return Err(FULL.into());
    }
    if let Some(delivery) = &run.delivery {
        tx.execute(DELIVER, &[&run.task.0, delivery, &run.id.0, &tx.micros()])?;
    }
    let (state, turn) =
        if busy { (QueueState::Blocked, 0) } else { (QueueState::Ready, Line::new(tx).turn(owner, cost)?) };
    tx.execute(
        QUEUE_RUN,
        &[
            &run.id.0,
            &run.task.0,
            &owner,
            &state.as_str(),
            &run.trigger.as_str(),
            &cost,
            &turn,
            &tx.micros(),
            &run.delivery,
            &run.input,
            &run.trace,
        ],
    )?;
    Ok(Queued { run: run.id, repeated: false })
}

/// Runs of a task by id, the newest first.
pub(super) fn newest(
    tx: &Tx<'_>,
    task: TaskId,
    before: Option<TaskRunId>,
    limit: u32,
) -> Result<Vec<TaskRun>, Fault> {
    let before = before.map_or(Uuid::max(), Uuid::from);
    let found: Vec<Uuid> = tx.rows(NEWEST_RUNS, &[&task.0, &before, &limit], |row| row.value("id"))?;
    // One by one: what is shown of a run lies in two tables, and each is asked by the id.
    let runs = found.iter().map(|run| tx.row(FOUND, &[run], read_run));
    runs.filter_map(Result::transpose).collect()
}

/// Stops a run: one that a worker has is asked to, another is over. The run as it stands then.
pub(super) fn cancel(tx: &Tx<'_>, id: TaskRunId, version: u64, next: Next) -> Result<Option<TaskRun>, Fault> {
    if let Some(run) = queued(tx, id)? {
        if run.is_running() {
            tx.execute(STOP_RUN, &[&id.0, &tx.micros()])?;
        } else if !run.is_tick()
            && let Some(kept) = kept(tx, run.task)?
        {
            // Nothing is tried again that somebody stopped.
            let next = next.tick().map_or(Next::Nothing, |(id, at)| Next::Tick { id, at });
            record(tx, &run, &End::cancelled("cancelled before it was begun"))?;
            follow(tx, &run, Some(&kept), version, next)?;
            unblock(tx, [run.task])?;
        }
    }
    tx.row(FOUND, &[&id.0], read_run)
}
