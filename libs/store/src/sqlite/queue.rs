//! The queue of runs of tasks in SQLite.
//!
//! Who ends a run looks for the next one of its task in the same transaction: no run waits for one that is over.

use std::time::Duration;

use async_trait::async_trait;
use domain::{Event, NodeId, RunId, TaskId, TaskRunId, UserId, WorkerSessionId};
use jiff::Timestamp;
use rusqlite::Row;
use uuid::Uuid;

use super::row::Columns;
use super::statement::statements;
use super::transaction::Tx;
use super::value::{Micros, array};
use super::{Fault, Sqlite, runs};
use crate::error::{Refusal, StoreError};
use crate::messages::NewMessage;
use crate::number::bigint;
use crate::queue::{
    Fence, FinishedRun, LateTick, LostRun, MovedTick, NOT_HELD, Plan, Promoted, Queue, Work, Worked,
};
use crate::runs::{NewRun, Requested, Run, RunCreated};

mod claim;
pub(super) mod finish;
pub(super) mod line;

statements! {
    OPEN = "queue/open";
    LINE = "queue/line";
    RENEW = "queue/renew";
    HOLDER = "queue/holder";
    CANCELLED = "queue/cancelled";
    HOLD = "queue/hold";
    HAND_BACK = "queue/hand_back";
    HAND_BACK_UNKNOWN = "queue/hand_back_unknown";
    DUE = "queue/due";
    BUSY = "queue/busy";
    NEXT_BLOCKED = "queue/next_blocked";
    NEWEST = "queue/newest";
    PLACE = "queue/place";
    NEXT_DUE = "queue/next_due";
    LATE = "queue/late";
    MOVE = "queue/move";
    DROP_TICK = "queue/drop_tick";
    CLAIM = "queue/claim";
    ADVANCE = "queue/advance";
    CLAIMED = "queue/claimed";
    QUEUED = "queue/queued";
    KEPT = "queue/kept";
    RECORD = "queue/record";
    RETRY = "queue/retry";
    DROP = "queue/drop";
    LOST = "queue/lost";
    EVICT = "queue/evict";
    FORGET_WORKERS = "queue/forget_workers";
}

/// For how long sessions that are over are known.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(3600);

#[async_trait]
impl Queue for Sqlite {
    async fn open_worker(
        &self,
        session: WorkerSessionId,
        node: NodeId,
        lease: Duration,
    ) -> Result<i64, StoreError> {
        self.write(move |tx| {
            tx.execute(OPEN, &[&session.0, &node.0, &tx.after(lease), &tx.micros()])?;
            let line = tx.row(LINE, &[], |row| row.value("turn"))?;
            line.ok_or_else(|| Fault::internal("queue/line gave no row"))
        })
        .await
    }

    async fn renew_worker(&self, session: WorkerSessionId, lease: Duration) -> Result<bool, StoreError> {
        self.write(move |tx| renew(tx, session, lease)).await
    }

    async fn cancelled_runs(&self, runs: &[TaskRunId]) -> Result<Vec<TaskRunId>, StoreError> {
        let runs = uuids(runs);
        self.read(move |tx| tx.rows(CANCELLED, &[&array(runs)], |row| row.value("id").map(TaskRunId))).await
    }

    async fn close_worker(&self, session: WorkerSessionId) -> Result<u64, StoreError> {
        self.write(move |tx| {
            let back = hand_back_unknown(tx, session, Vec::new())?;
            renew(tx, session, Duration::ZERO)?;
            Ok(back)
        })
        .await
    }

    async fn hand_back(
        &self,
        session: WorkerSessionId,
        runs: &[(TaskRunId, u64)],
    ) -> Result<u64, StoreError> {
        let runs = runs.to_vec();
        self.write(move |tx| {
            if !is_good(tx, session)? {
                return Ok(0);
            }
            let mut back = 0;
            for (run, epoch) in &runs {
                back += tx.execute(HAND_BACK, &[&session.0, &run.0, &bigint(*epoch)])?;
            }
            Ok(back as u64)
        })
        .await
    }

    async fn promote_due(&self, grace: Duration, limit: u32) -> Result<Promoted, StoreError> {
        self.write(move |tx| {
            let due = line::promote(tx, grace, limit)?;
            let next_in = next_due(tx)?.map(|at| at.duration_since(tx.now()).try_into().unwrap_or_default());
            Ok(Promoted { due, next_in })
        })
        .await
    }

    async fn is_overdue(&self) -> Result<bool, StoreError> {
        self.read(|tx| Ok(next_due(tx)?.is_some_and(|at| at <= tx.now()))).await
    }

    async fn late_ticks(&self, grace: Duration, limit: u32) -> Result<Vec<LateTick>, StoreError> {
        self.read(move |tx| {
            if !super::tasks::scheduler_is_on(tx)? {
                return Ok(Vec::new());
            }
            tx.rows(LATE, &[&tx.before(grace), &limit], |row| {
                Ok(LateTick {
                    id: TaskRunId(row.value("id")?),
                    due: row.time("scheduled_for")?,
                    now: tx.now(),
                    plan: plan(row)?,
                })
            })
        })
        .await
    }

    async fn move_ticks(&self, ticks: &[MovedTick]) -> Result<(), StoreError> {
        let ticks = ticks.to_vec();
        self.write(move |tx| {
            for tick in &ticks {
                let (id, from) = (tick.id.0, Micros(tick.from));
                match tick.to {
                    Some(to) => tx.execute(MOVE, &[&id, &from, &Micros(to), &tx.micros()])?,
                    None => tx.execute(DROP_TICK, &[&id, &from])?,
                };
            }
            Ok(())
        })
        .await
    }

    async fn work(&self, session: WorkerSessionId, work: Work<'_>) -> Result<Worked, StoreError> {
        let Work { finished, budget, floor } = work;
        if finished.is_empty() && budget == 0 {
            return Ok(Worked { finished: Vec::new(), claimed: Vec::new(), unblocked: 0 });
        }
        let finished: Vec<_> = finished.iter().map(|run| (session, run.clone())).collect();
        self.write(move |tx| {
            let over = finish::finish(tx, &finished, finish::Sessions::Good)?;
            let claimed = claim::claim(tx, session, budget, floor)?;
            // After the claim: what waited for those that are over is the next claim's.
            let unblocked = line::unblock(tx, over.iter().map(|(_, task)| *task))?;
            Ok(Worked { finished: over.into_iter().map(|(run, _)| run).collect(), claimed, unblocked })
        })
        .await
    }

    async fn lost_runs(&self, limit: u32) -> Result<Vec<LostRun>, StoreError> {
        self.read(move |tx| {
            tx.rows(LOST, &[&tx.micros(), &limit], |row| {
                Ok(LostRun {
                    id: TaskRunId(row.value("id")?),
                    task: TaskId(row.value("task_id")?),
                    session: WorkerSessionId(row.value("worker_id")?),
                    epoch: row.count("epoch")?,
                    attempt: row.value("attempt")?,
                    trigger: row.named("trigger")?,
                    scheduled_for: row.time("scheduled_for")?,
                    now: tx.now(),
                    plan: plan(row)?,
                })
            })
        })
        .await
    }

    async fn lose_runs(&self, runs: &[(WorkerSessionId, FinishedRun)]) -> Result<Vec<TaskRunId>, StoreError> {
        let runs = runs.to_vec();
        self.write(move |tx| {
            let lost = finish::finish(tx, &runs, finish::Sessions::Over)?;
            line::unblock(tx, lost.iter().map(|(_, task)| *task))?;
            Ok(lost.into_iter().map(|(run, _)| run).collect())
        })
        .await
    }

    async fn tidy_queue(&self, grace: Duration) -> Result<u64, StoreError> {
        self.write(move |tx| {
            let evicted = tx.execute(EVICT, &[&tx.before(grace)])?;
            tx.execute(FORGET_WORKERS, &[&tx.before(FORGOTTEN_AFTER)])?;
            Ok(evicted as u64)
        })
        .await
    }

    async fn post_for_task(
        &self,
        fence: &Fence,
        message: &NewMessage,
        runs: &[NewRun],
    ) -> Result<Requested, StoreError> {
        let (fence, message, runs) = (*fence, message.clone(), runs.to_vec());
        self.write(move |tx| {
            hold(tx, &fence)?;
            runs::append_request(tx, &message, &runs)
        })
        .await
    }

    async fn create_run_for_task(&self, fence: &Fence, run: &NewRun) -> Result<RunCreated, StoreError> {
        let (fence, run) = (*fence, run.clone());
        self.write(move |tx| {
            hold(tx, &fence)?;
            runs::create_run(tx, &run)
        })
        .await
    }

    async fn cancel_run_for_task(
        &self,
        fence: &Fence,
        actor: UserId,
        run: RunId,
    ) -> Result<(Run, Vec<Event>), StoreError> {
        let fence = *fence;
        self.write(move |tx| {
            hold(tx, &fence)?;
            runs::cancel(tx, actor.into(), run)
        })
        .await
    }

    async fn hand_back_unknown(
        &self,
        session: WorkerSessionId,
        known: &[TaskRunId],
    ) -> Result<u64, StoreError> {
        let known = uuids(known);
        self.write(move |tx| hand_back_unknown(tx, session, known)).await
    }

    async fn holds(&self, fence: &Fence) -> Result<bool, StoreError> {
        let fence = *fence;
        self.read(move |tx| is_held(tx, &fence)).await
    }
}

/// Whether a session is good.
fn is_good(tx: &Tx<'_>, session: WorkerSessionId) -> Result<bool, Fault> {
    let good = tx.row(HOLDER, &[&session.0, &tx.micros()], |row| row.value("is_good"))?;
    Ok(good.unwrap_or(false))
}

fn renew(tx: &Tx<'_>, session: WorkerSessionId, lease: Duration) -> Result<bool, Fault> {
    Ok(tx.execute(RENEW, &[&session.0, &tx.after(lease), &tx.micros()])? > 0)
}

fn hand_back_unknown(tx: &Tx<'_>, session: WorkerSessionId, known: Vec<Uuid>) -> Result<u64, Fault> {
    if !is_good(tx, session)? {
        return Ok(0);
    }
    Ok(tx.execute(HAND_BACK_UNKNOWN, &[&session.0, &array(known)])? as u64)
}

fn is_held(tx: &Tx<'_>, fence: &Fence) -> Result<bool, Fault> {
    tx.exists(HOLD, &[&fence.session.0, &fence.run.0, &bigint(fence.epoch), &tx.micros()])
}

/// Refuses what is written in the name of a run that is no longer its worker's.
fn hold(tx: &Tx<'_>, fence: &Fence) -> Result<(), Fault> {
    if is_held(tx, fence)? { Ok(()) } else { Err(Refusal::Conflict(NOT_HELD).into()) }
}

/// When the next run is due; none while the scheduler is switched off.
fn next_due(tx: &Tx<'_>) -> Result<Option<Timestamp>, Fault> {
    if super::tasks::scheduler_is_on(tx)? {
        tx.row(NEXT_DUE, &[], |row| row.time("due_at"))
    } else {
        Ok(None)
    }
}

/// What comes after a run, from the columns of its task.
fn plan(row: &Row<'_>) -> Result<Plan, Fault> {
    let schedule: Option<String> = row.value("schedule")?;
    let (timezone, anchor) = (row.value("timezone")?, row.time("anchor")?);
    Ok(Plan {
        version: row.count("version")?,
        schedule: schedule.map(|schedule| (schedule, timezone, anchor)),
        misfire: row.named("misfire")?,
        retries: row.value("retries")?,
    })
}

fn uuids(runs: &[TaskRunId]) -> Vec<Uuid> {
    runs.iter().map(|run| run.0).collect()
}
