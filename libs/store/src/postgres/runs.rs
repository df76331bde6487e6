//! Runs in PostgreSQL.
//!
//! Whoever makes, moves or ends a run of an agent holds the lock of the agent's stream, and with it those of the rooms and
//! people that are told, taken all at once. So the places of an agent are counted exactly, and its runs are
//! offered in their order. Which people that are is looked up before the lock, generously: when somebody else
//! is to be told under it, everything begins anew.
//!
//! Rows are locked in one order everywhere: streams, consumers, runs by id, calls of tools. Where a run may go from where
//! it stands is said by `domain::run`, asked under these locks; the update then repeats the status and epoch it was asked for.
//! Flushes alone come without the stream's lock: the row of the run guards them.

use std::time::Duration;

use async_trait::async_trait;
use domain::{Event, Principal, RoomId, RunId, SlotSessionId, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::StoreError;
use crate::messages::NewMessage;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::{Postgres, repeated};
use crate::runs::rules::finish_status;
use crate::runs::{
    FinishRun, Known, NewRun, OpenRun, Patch, PatchOutcome, Requested, RescueRules, Rescued, Run, RunCreated,
    RunUpdate, Runs, Started,
};

mod cancel;
mod create;
mod finish;
pub(super) mod locked;
pub(super) mod moves;
mod patches;
mod read;
mod rescue;
mod start;

statements! {
    STREAMS = "runs/streams";
    LOCK = "runs/lock";
    LOCK_HELD = "runs/lock_held";
    LOCK_AGENT = "runs/lock_agent";
    MOVE = "runs/move";
    OFFER = "runs/offer";
    TRANSFER = "runs/transfer";
    LEASE = "runs/lease";
    JUDGE = "runs/judge";
    CREATE = "runs/create";
    START = "runs/start";
    PATCH = "runs/patch";
    FINISH = "runs/finish";
    OWN = "runs/own";
    OF_AGENT = "runs/of_agent";
    PLACED = "runs/placed";
    MAY_CANCEL = "runs/may_cancel";
    ASK_TO_STOP = "runs/ask_to_stop";
    STALLED = "runs/stalled";
    READ = "runs/read";
    VIEW = "runs/view";
    LIST = "runs/list";
    HELD = "runs/held";
    OPEN = "runs/open";
    UPDATES = "runs/updates";
}

#[async_trait]
impl Runs for Postgres {
    async fn create_run(&self, run: &NewRun) -> Result<RunCreated, StoreError> {
        repeated!(self.try_create_run(run, None))
    }

    async fn append_request(&self, message: &NewMessage, runs: &[NewRun]) -> Result<Requested, StoreError> {
        repeated!(self.try_append_request(message, runs, None))
    }

    async fn run(&self, reader: Principal, run: RunId) -> Result<Option<Run>, StoreError> {
        let row = self.row(VIEW, &[&run.0, &reader.id(), &reader.kind()]).await?;
        Ok(row.as_ref().map(read::run).transpose()?)
    }

    async fn runs_of_room(
        &self,
        reader: Principal,
        room: RoomId,
        before: Option<RunId>,
        limit: u32,
    ) -> Result<Option<Vec<Run>>, StoreError> {
        let (before, limit) = (before.map(Uuid::from), i64::from(limit));
        let rows = self.rows(LIST, &[&room.0, &reader.id(), &reader.kind(), &before, &limit]).await?;
        Ok(read::page(&rows)?)
    }

    async fn start_run(
        &self,
        session: SlotSessionId,
        run: RunId,
        lease: Duration,
    ) -> Result<Started, StoreError> {
        repeated!(self.try_start(session, run, lease))
    }

    async fn write_patches(&self, patches: &[Patch]) -> Result<Vec<PatchOutcome>, StoreError> {
        self.flush(patches).await
    }

    async fn finish_run(&self, finish: &FinishRun) -> Result<(Run, Vec<Event>), StoreError> {
        let status = finish_status(finish.status)?;
        repeated!(self.try_finish(finish, status))
    }

    async fn cancel_run(&self, actor: Principal, run: RunId) -> Result<(Run, Vec<Event>), StoreError> {
        repeated!(self.try_cancel(actor, run, None))
    }

    async fn open_runs(&self, user: UserId) -> Result<Vec<OpenRun>, StoreError> {
        let rows = self.rows(OPEN, &[&user.0]).await?;
        let open =
            |row: &Row| Ok(OpenRun { run: RunId(row.value("id")?), room: RoomId(row.value("room_id")?) });
        Ok(rows.iter().map(open).collect::<Result<_, Fault>>()?)
    }

    async fn held_runs(&self, session: SlotSessionId) -> Result<Vec<Run>, StoreError> {
        let rows = self.rows(HELD, &[&session.0]).await?;
        Ok(rows.iter().map(read::run).collect::<Result<_, Fault>>()?)
    }

    async fn run_updates(&self, known: &[Known]) -> Result<Vec<RunUpdate>, StoreError> {
        if known.is_empty() {
            return Ok(Vec::new());
        }
        self.updates(known).await
    }

    async fn rescue_runs(&self, rules: &RescueRules, limit: u32) -> Result<Rescued, StoreError> {
        self.rescue(rules, limit).await
    }
}
