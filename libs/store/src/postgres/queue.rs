//! The queue of runs of tasks in PostgreSQL.
//!
//! Rows are narrow and gone soon, what is over lies in another table. Each statement takes what it works on with `SKIP LOCKED`
//! or by its session, so workers are in nobody's way. Locks are taken in one order: the session, tasks, runs.
//!
//! Who ends a run looks for the next one of its task in a statement of its own, after the commit: a run that is queued at the same
//! time is seen by that look, or its caller's own look sees the end. One that dies between the two leaves it to
//! [`Queue::tidy_queue`].

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::{Event, NodeId, RunId, TaskId, TaskRunId, UserId, WorkerSessionId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::error::{Refusal, StoreError};
use crate::messages::NewMessage;
use crate::postgres::interval::micros;
use crate::postgres::pool::Session;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::transaction::{Step, Transaction};
use crate::postgres::{Postgres, repeated};
use crate::queue::{
    ClaimedRun, Fence, FinishedRun, LateTick, LostRun, MovedTick, NOT_HELD, OwnerStanding, Plan, Promoted,
    Queue, Work, Worked,
};
use crate::runs::{NewRun, Requested, Run, RunCreated};
use crate::tasks::SigningKey;

mod finish;

statements! {
    OPEN = "queue/open";
    RENEW = "queue/renew";
    CLOSE = "queue/close";
    CANCELLED = "queue/cancelled";
    HOLD = "queue/hold";
    HAND_BACK = "queue/hand_back";
    HAND_BACK_UNKNOWN = "queue/hand_back_unknown";
    PROMOTE = "queue/promote";
    UNBLOCK = "queue/unblock";
    STUCK = "queue/stuck";
    NEXT_DUE = "queue/next_due";
    LATE = "queue/late";
    MOVE = "queue/move";
    FINISH = "queue/finish";
    CLAIM = "queue/claim";
    LOST = "queue/lost";
    ADVANCE = "queue/advance";
    EVICT = "queue/evict";
    FORGET_WORKERS = "queue/forget_workers";
}

/// For how long a session that is being ended has its lease, in microseconds.
const CLOSING: i64 = 60_000_000;
/// Tasks of which a blocked run is looked for at one time.
const STUCK_AT_ONCE: i64 = 1000;

#[async_trait]
impl Queue for Postgres {
    async fn open_worker(
        &self,
        session: WorkerSessionId,
        node: NodeId,
        lease: Duration,
    ) -> Result<i64, StoreError> {
        let row = self.row(OPEN, &[&session.0, &node.0, &micros(lease)]).await?;
        let row = row.ok_or_else(|| Fault::internal("queue/open gave no row"))?;
        Ok(row.value("turn")?)
    }

    async fn renew_worker(&self, session: WorkerSessionId, lease: Duration) -> Result<bool, StoreError> {
        Ok(self.row(RENEW, &[&session.0, &micros(lease)]).await?.is_some())
    }

    async fn cancelled_runs(&self, runs: &[TaskRunId]) -> Result<Vec<TaskRunId>, StoreError> {
        let runs: Vec<Uuid> = runs.iter().map(|run| run.0).collect();
        Ok(run_ids(&self.rows(CANCELLED, &[&runs]).await?)?)
    }

    async fn close_worker(&self, session: WorkerSessionId) -> Result<u64, StoreError> {
        let none = Vec::<Uuid>::new();
        let back: Result<[Vec<Row>; 3], StoreError> = repeated!(async {
            // Renewed first: a claim that is under way is waited for, and one that comes later finds the session over.
            let steps: [Step<'_>; 3] = [
                (RENEW, &[&session.0, &CLOSING]),
                (HAND_BACK_UNKNOWN, &[&session.0, &none]),
                (CLOSE, &[&session.0]),
            ];
            self.session().await?.transact(steps).await
        });
        let [_, back, _] = back?;
        Ok(back.len() as u64)
    }

    async fn hand_back(
        &self,
        session: WorkerSessionId,
        runs: &[(TaskRunId, u64)],
    ) -> Result<u64, StoreError> {
        let ids: Vec<Uuid> = runs.iter().map(|(run, _)| run.0).collect();
        let epochs: Vec<i64> = runs.iter().map(|(_, epoch)| bigint(*epoch)).collect();
        let back = self.rows(HAND_BACK, &[&session.0, &ids, &epochs]).await?;
        Ok(back.len() as u64)
    }

    async fn promote_due(&self, grace: Duration, limit: u32) -> Result<Promoted, StoreError> {
        let due = self.rows(PROMOTE, &[&micros(grace), &i64::from(limit)]).await?;
        let blocked = due.iter().filter_map(|row| match row.value("free") {
            Ok(true) => None,
            Ok(false) => Some(row.value::<Uuid>("task_id")),
            Err(fault) => Some(Err(fault)),
        });
        let blocked: Vec<Uuid> = blocked.collect::<Result<_, Fault>>()?;
        self.unblock_next(&blocked).await;
        let next = self.row(NEXT_DUE, &[]).await?;
        let seconds = next.map(|row| row.value::<f64>("seconds")).transpose()?;
        Ok(Promoted {
            due: u32::try_from(due.len()).unwrap_or(u32::MAX),
            next_in: seconds
                .map(|seconds| Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(Duration::MAX)),
        })
    }

    async fn is_overdue(&self) -> Result<bool, StoreError> {
        let next = self.row(NEXT_DUE, &[]).await?;
        Ok(next.map(|row| row.value::<f64>("seconds")).transpose()?.is_some_and(|seconds| seconds <= 0.0))
    }

    async fn late_ticks(&self, grace: Duration, limit: u32) -> Result<Vec<LateTick>, StoreError> {
        let rows = self.rows(LATE, &[&micros(grace), &i64::from(limit)]).await?;
        let tick = |row: &Row| {
            Ok(LateTick {
                id: TaskRunId(row.value("id")?),
                due: row.value("scheduled_for")?,
                now: row.value("now")?,
                plan: plan(row)?,
            })
        };
        Ok(rows.iter().map(tick).collect::<Result<_, Fault>>()?)
    }

    async fn move_ticks(&self, ticks: &[MovedTick]) -> Result<(), StoreError> {
        let ids: Vec<Uuid> = ticks.iter().map(|tick| tick.id.0).collect();
        let from: Vec<_> = ticks.iter().map(|tick| tick.from).collect();
        let to: Vec<_> = ticks.iter().map(|tick| tick.to).collect();
        self.rows(MOVE, &[&ids, &from, &to]).await?;
        Ok(())
    }

    async fn work(&self, session: WorkerSessionId, work: Work<'_>) -> Result<Worked, StoreError> {
        let finished: Vec<_> = work.finished.iter().map(|run| (session, run)).collect();
        let batch = finish::Batch::new(&finished);
        let (gone, claimed) = repeated!(self.try_work(session, &batch, &work))?;
        let (finished, tasks) = finish::gone(&gone)?;
        let unblocked = self.unblock_next(&tasks).await;
        let mut claimed: Vec<ClaimedRun> = claimed.iter().map(claimed_run).collect::<Result<_, Fault>>()?;
        claimed.sort_by_key(|run| (run.turn, run.id));
        Ok(Worked { finished, claimed, unblocked })
    }

    async fn lost_runs(&self, limit: u32) -> Result<Vec<LostRun>, StoreError> {
        let rows = self.rows(LOST, &[&i64::from(limit)]).await?;
        let lost = |row: &Row| {
            Ok(LostRun {
                id: TaskRunId(row.value("id")?),
                task: TaskId(row.value("task_id")?),
                session: WorkerSessionId(row.value("worker_id")?),
                epoch: row.count("epoch")?,
                attempt: number(row, "attempt")?,
                trigger: row.named("trigger")?,
                scheduled_for: row.value("scheduled_for")?,
                now: row.value("now")?,
                plan: plan(row)?,
            })
        };
        Ok(rows.iter().map(lost).collect::<Result<_, Fault>>()?)
    }

    async fn lose_runs(&self, runs: &[(WorkerSessionId, FinishedRun)]) -> Result<Vec<TaskRunId>, StoreError> {
        let lost: Vec<_> = runs.iter().map(|(session, run)| (*session, run)).collect();
        let batch = finish::Batch::new(&lost);
        let rows = self.rows(FINISH, &batch.params(&false)).await?;
        let (lost, tasks) = finish::gone(&rows)?;
        self.unblock_next(&tasks).await;
        Ok(lost)
    }

    async fn tidy_queue(&self, grace: Duration) -> Result<u64, StoreError> {
        // First: the others look no further than the line.
        self.rows(ADVANCE, &[]).await?;
        let evicted = self.rows(EVICT, &[&micros(grace)]).await?.len();
        let stuck = self.rows(STUCK, &[&STUCK_AT_ONCE]).await?;
        let stuck: Vec<Uuid> = stuck.iter().map(|row| row.value("task_id")).collect::<Result<_, Fault>>()?;
        self.unblock(&stuck).await?;
        self.rows(FORGET_WORKERS, &[]).await?;
        Ok((evicted + stuck.len()) as u64)
    }

    async fn post_for_task(
        &self,
        fence: &Fence,
        message: &NewMessage,
        runs: &[NewRun],
    ) -> Result<Requested, StoreError> {
        repeated!(self.try_append_request(message, runs, Some(fence)))
    }

    async fn create_run_for_task(&self, fence: &Fence, run: &NewRun) -> Result<RunCreated, StoreError> {
        repeated!(self.try_create_run(run, Some(fence)))
    }

    async fn cancel_run_for_task(
        &self,
        fence: &Fence,
        actor: UserId,
        run: RunId,
    ) -> Result<(Run, Vec<Event>), StoreError> {
        repeated!(self.try_cancel(actor.into(), run, Some(fence)))
    }

    async fn hand_back_unknown(
        &self,
        session: WorkerSessionId,
        known: &[TaskRunId],
    ) -> Result<u64, StoreError> {
        let known: Vec<Uuid> = known.iter().map(|run| run.0).collect();
        Ok(self.rows(HAND_BACK_UNKNOWN, &[&session.0, &known]).await?.len() as u64)
    }

    async fn holds(&self, fence: &Fence) -> Result<bool, StoreError> {
        Ok(self.row(HOLD, &[&fence.session.0, &fence.run.0, &bigint(fence.epoch)]).await?.is_some())
    }
}

impl Postgres {
    /// One round trip and, when something is claimed or over, one commit.
    async fn try_work(
        &self,
        session: WorkerSessionId,
        batch: &finish::Batch<'_>,
        work: &Work<'_>,
    ) -> Result<(Vec<Row>, Vec<Row>), Fault> {
        let budget = i64::from(work.budget);
        let held = true;
        let finish = batch.params(&held);
        let claim: [&(dyn ToSql + Sync); 3] = [&session.0, &budget, &work.floor];
        let connection = self.session().await?;
        match (work.finished.is_empty(), work.budget) {
            (true, 0) => Ok((Vec::new(), Vec::new())),
            (true, _) => Ok((Vec::new(), connection.query(CLAIM, &claim).await?)),
            (false, 0) => Ok((connection.query(FINISH, &finish).await?, Vec::new())),
            (false, _) => {
                let [gone, claimed] = connection.transact([(FINISH, &finish), (CLAIM, &claim)]).await?;
                Ok((gone, claimed))
            }
        }
    }

    /// Makes the next blocked run of each of these tasks ready, if none is: after a commit, which stands. A look that fails is made up for by
    /// [`Queue::tidy_queue`]. How many became ready.
    pub(super) async fn unblock_next(&self, tasks: &[Uuid]) -> u32 {
        self.unblock(tasks).await.unwrap_or_else(|error| {
            tracing::debug!(%error, "can't look for runs that wait for others of their tasks");
            0
        })
    }

    async fn unblock(&self, tasks: &[Uuid]) -> Result<u32, StoreError> {
        if tasks.is_empty() {
            return Ok(0);
        }
        let ready = self.rows(UNBLOCK, &[&tasks]).await?;
        Ok(u32::try_from(ready.len()).unwrap_or(u32::MAX))
    }
}

impl Session {
    /// BEGIN and the steps; in the name of a run, if there is a fence, which then holds until the transaction is over.
    pub(super) async fn begin_within<const N: usize>(
        &self,
        fence: Option<&Fence>,
        steps: [Step<'_>; N],
    ) -> Result<(Transaction<'_>, [Vec<Row>; N]), Fault> {
        let Some(fence) = fence else { return self.begin(steps).await };
        let (transaction, [held]) =
            self.begin([(HOLD, &[&fence.session.0, &fence.run.0, &bigint(fence.epoch)])]).await?;
        let held = if held.is_empty() { Err(Refusal::Conflict(NOT_HELD).into()) } else { Ok(()) };
        let (transaction, ()) = transaction.decided(held).await?;
        let rows = transaction.run(steps).await?;
        Ok((transaction, rows))
    }
}

fn claimed_run(row: &Row) -> Result<ClaimedRun, Fault> {
    let action: &str = row.value("action")?;
    Ok(ClaimedRun {
        id: TaskRunId(row.value("id")?),
        task: TaskId(row.value("task_id")?),
        owner: UserId(row.value("owner_id")?),
        standing: match (row.value("owner_disabled")?, row.value("owner_is_admin")?) {
            (true, _) => OwnerStanding::Disabled,
            (false, true) => OwnerStanding::Admin,
            (false, false) => OwnerStanding::Person,
        },
        chain: TaskRunId(row.value("chain_id")?),
        epoch: row.count("epoch")?,
        attempt: number(row, "attempt")?,
        trigger: row.named("trigger")?,
        scheduled_for: row.value("scheduled_for")?,
        due_at: row.value("due_at")?,
        started_at: row.value("started_at")?,
        turn: row.value("turn")?,
        cancel_requested: row.value("cancel_requested")?,
        delivery: row.value("delivery_id")?,
        input: row.value("input")?,
        trace: row.value::<Option<&str>>("trace")?.map(Arc::from),
        name: row.value("name")?,
        action: serde_json::from_str(action).ok(),
        max_runtime: Duration::from_millis(row.count("max_runtime_ms")?),
        webhook_key: row.value::<Option<Vec<u8>>>("webhook_key")?.map(SigningKey),
        plan: plan(row)?,
    })
}

/// What comes after a run, from the columns of its task.
fn plan(row: &Row) -> Result<Plan, Fault> {
    let schedule: Option<String> = row.value("schedule")?;
    let (timezone, anchor) = (row.value("timezone")?, row.value("anchor")?);
    Ok(Plan {
        version: row.count("version")?,
        schedule: schedule.map(|schedule| (schedule, timezone, anchor)),
        misfire: row.named("misfire")?,
        retries: number(row, "retries")?,
    })
}

/// An `integer` that is never negative.
pub(super) fn number(row: &Row, column: &str) -> Result<u32, Fault> {
    let number: i32 = row.value(column)?;
    u32::try_from(number).map_err(|_| Fault::internal(format!("{column} is negative")))
}

fn run_ids(rows: &[Row]) -> Result<Vec<TaskRunId>, Fault> {
    rows.iter().map(|row| row.value("id").map(TaskRunId)).collect()
}
