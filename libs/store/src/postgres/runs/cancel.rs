//! Asking for a run to be stopped, and stopping all runs of an agent.

use domain::run::Change;
use domain::{AgentId, Event, EventKind, Principal, RoomId, RunId, RunStatus, Sender};
use serde::Serialize;
use tokio_postgres::Row;
use uuid::Uuid;

use super::events::draft;
use super::locked::{LockedRun, ids};
use super::moves::Move;
use super::{ASK_TO_STOP, LOCK, MAY_CANCEL, NO_RUN, OF_AGENT, READ, read};
use crate::error::Refusal;
use crate::postgres::Postgres;
use crate::postgres::append::{self, Append, Draft};
use crate::postgres::pool::Session;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::postgres::transaction::Transaction;
use crate::runs::Run;

impl Postgres {
    pub(super) async fn try_cancel(&self, actor: Principal, run: RunId) -> Result<(Run, Vec<Event>), Fault> {
        let id = [run.0];
        let asked = id.as_slice();
        let session = self.session().await?;
        let streams = session.streams_of(asked).await?;
        let (transaction, [_, locked, may]) = session
            .begin([
                (append::LOCK, &[&streams]),
                (LOCK, &[&asked]),
                (MAY_CANCEL, &[&run.0, &actor.id(), &actor.kind()]),
            ])
            .await?;
        let (transaction, run) = transaction.decided(judge(&locked, &may)).await?;
        let drafts = transaction.stop(&run, actor.into(), &streams).await;
        let (transaction, drafts) = transaction.decided(drafts).await?;
        let append = Append::new(&drafts);
        let [written, rows] =
            transaction.commit([(append::APPEND, &append.params()), (READ, &[&asked])]).await?;
        Ok((read::the_run(&rows)?, append.events(&written)?))
    }
}

fn judge(locked: &[Row], may: &[Row]) -> Result<LockedRun, Fault> {
    let may = may.first().ok_or(NO_RUN)?;
    if !may.value::<bool>("sees")? {
        return Err(NO_RUN.into());
    }
    if !may.value::<bool>("may")? {
        return Err(Refusal::Forbidden.into());
    }
    let run = LockedRun::read(locked.first().ok_or(NO_RUN)?)?;
    if run.standing.status.is_final() && run.standing.status != RunStatus::Cancelled {
        return Err(Refusal::Conflict("this run is over already").into());
    }
    Ok(run)
}

/// `run.cancel_requested`.
fn to_be_stopped(run: &LockedRun, by: Sender) -> Result<Draft, Fault> {
    #[derive(Serialize)]
    struct Body {
        run_id: RunId,
        room_id: RoomId,
    }
    let body = Body { run_id: run.id, room_id: run.room };
    draft(run.agent, EventKind::RunCancelRequested, by, &body)
}

impl Transaction<'_> {
    /// Ends all these runs of an agent, and whatever is pending for them: the agent may not work any more. What is left of
    /// its runs elsewhere goes on.
    ///
    /// # Errors
    ///
    /// `Contended` when a run came between the look and the lock.
    pub(in crate::postgres) async fn end_runs(
        &self,
        ending: &Ending,
        by: Sender,
    ) -> Result<Vec<Draft>, Fault> {
        let [open, locked] =
            self.run([(OF_AGENT, &[&ending.agent, &ending.room]), (LOCK, &[&ending.runs])]).await?;
        if !ids(&open)?.iter().all(|run| ending.runs.contains(run)) {
            return Err(Fault::Contended("a run was made meanwhile".into()));
        }
        let runs = LockedRun::read_all(&locked)?;
        let moves: Vec<Move<'_>> = runs
            .iter()
            .filter_map(|run| Some(Move { run, to: run.after(Change::AgentRevoked)?, refund: 0 }))
            .collect();
        self.move_runs(&moves, by, &ending.streams).await
    }

    /// Ends a run that is queued, marks one that is worked on. What is over or marked stays as it is.
    async fn stop(&self, run: &LockedRun, by: Sender, locked: &[Uuid]) -> Result<Vec<Draft>, Fault> {
        let Some(to) = run.after(Change::Cancel) else { return Ok(Vec::new()) };
        if to.status.is_final() {
            return self.move_runs(&[Move { run, to, refund: 0 }], by, locked).await;
        }
        if run.standing.cancel_requested {
            return Ok(Vec::new());
        }
        self.run([(ASK_TO_STOP, &[&run.id.0, &bigint(run.epoch)])]).await?;
        Ok(vec![to_be_stopped(run, by)?])
    }
}

/// Runs of an agent that is revoked, or that is removed from a room, and the streams to be locked for their end.
pub(in crate::postgres) struct Ending {
    agent: Uuid,
    room: Option<Uuid>,
    runs: Vec<Uuid>,
    streams: Vec<Uuid>,
}

impl Ending {
    /// The streams of the agent's rooms and of everybody who is to be told; the agent's own is among them.
    pub(in crate::postgres) fn streams(&self) -> &[Uuid] {
        &self.streams
    }
}

impl Session {
    /// The runs of an agent that are not over, as things stand; those in one room, or all.
    pub(in crate::postgres) async fn open_runs_of(
        &self,
        agent: AgentId,
        room: Option<RoomId>,
    ) -> Result<Ending, Fault> {
        let room = room.map(Uuid::from);
        let runs = ids(&self.query(OF_AGENT, &[&agent.0, &room]).await?)?;
        let mut streams = self.streams_of(&runs).await?;
        streams.push(agent.0);
        Ok(Ending { agent: agent.0, room, runs, streams })
    }
}
