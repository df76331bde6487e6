//! The line: runs that become ready, and their turns.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use domain::task::QueueState;
use domain::{TaskId, TaskRunId};
use rusqlite::Row;
use uuid::Uuid;

use super::{BUSY, DUE, NEWEST, NEXT_BLOCKED, PLACE};
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::tasks::scheduler_is_on;
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::array;

/// Gives turns. A run's is that of the run before it in its flow, or of what was claimed last, plus its cost.
pub(in crate::sqlite) struct Line<'a, 'c> {
    tx: &'a Tx<'c>,
    /// The last turn of each owner and cost.
    flows: HashMap<(Uuid, i64), i64>,
}

impl<'a, 'c> Line<'a, 'c> {
    pub(in crate::sqlite) fn new(tx: &'a Tx<'c>) -> Self {
        Self { tx, flows: HashMap::new() }
    }

    /// The turn of a run that becomes ready now.
    pub(in crate::sqlite) fn turn(&mut self, owner: Uuid, cost: i64) -> Result<i64, Fault> {
        let last = match self.flows.get(&(owner, cost)) {
            Some(last) => *last,
            None => {
                let newest = self.tx.row(NEWEST, &[&owner, &cost], |row| row.value("turn"))?;
                newest.ok_or_else(|| Fault::internal("queue/newest gave no row"))?
            }
        };
        let turn = last + cost;
        self.flows.insert((owner, cost), turn);
        Ok(turn)
    }
}

/// A run that is not ready.
struct Waiting {
    id: TaskRunId,
    task: Uuid,
    owner: Uuid,
    cost: i64,
}

impl Waiting {
    fn read(row: &Row<'_>) -> Result<Self, Fault> {
        Ok(Self {
            id: TaskRunId(row.value("id")?),
            task: row.value("task_id")?,
            owner: row.value("owner_id")?,
            cost: row.value("cost")?,
        })
    }

    fn place(&self, tx: &Tx<'_>, state: QueueState, turn: i64) -> Result<(), Fault> {
        tx.execute(PLACE, &[&self.id.0, &state.as_str(), &turn]).map(drop)
    }
}

/// Makes what is due ready, the longest due first: one run of a task, and only when none of it is ready or running; the others are
/// blocked. How many runs that were.
pub(super) fn promote(tx: &Tx<'_>, grace: Duration, limit: u32) -> Result<u32, Fault> {
    if !scheduler_is_on(tx)? {
        return Ok(0);
    }
    let due = tx.rows(DUE, &[&tx.micros(), &tx.before(grace), &limit], Waiting::read)?;
    if due.is_empty() {
        return Ok(0);
    }
    let tasks = array(due.iter().map(|run| run.task));
    let mut busy: HashSet<Uuid> = tx.rows(BUSY, &[&tasks], |row| row.value("task_id"))?.into_iter().collect();
    let mut line = Line::new(tx);
    for run in &due {
        if busy.insert(run.task) {
            run.place(tx, QueueState::Ready, line.turn(run.owner, run.cost)?)?;
        } else {
            run.place(tx, QueueState::Blocked, 0)?;
        }
    }
    Ok(count(due.len()))
}

/// Makes the next blocked run of each of these tasks ready, if none is ready or running. How many became ready.
pub(in crate::sqlite) fn unblock(tx: &Tx<'_>, tasks: impl IntoIterator<Item = TaskId>) -> Result<u32, Fault> {
    let tasks: BTreeSet<TaskId> = tasks.into_iter().collect();
    let mut next = Vec::new();
    for task in tasks {
        next.extend(tx.row(NEXT_BLOCKED, &[&task.0], Waiting::read)?);
    }
    next.sort_unstable_by_key(|run| run.id);
    let mut line = Line::new(tx);
    for run in &next {
        run.place(tx, QueueState::Ready, line.turn(run.owner, run.cost)?)?;
    }
    Ok(count(next.len()))
}

fn count(runs: usize) -> u32 {
    u32::try_from(runs).unwrap_or(u32::MAX)
}
