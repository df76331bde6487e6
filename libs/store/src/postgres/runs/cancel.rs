//! Asking for a run to be stopped, and stopping all runs of an agent.

use domain::run::Change;
use domain::{AgentId, Event, Principal, RoomId, RunId, Sender};
use tokio_postgres::Row;
use uuid::Uuid;

use super::locked::{self, ids};
use super::{ASK_TO_STOP, LOCK, MAY_CANCEL, OF_AGENT, READ, read};
use crate::postgres::Postgres;
use crate::postgres::append::{self, Append, Draft};
use crate::postgres::consumers::ROOMS;
use crate::postgres::pool::Session;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::postgres::transaction::{Step, Transaction};
use crate::queue::Fence;
use crate::runs::Run;
use crate::runs::events::to_be_stopped;
use crate::runs::locked::{LockedRun, Move};
use crate::runs::rules::NO_RUN;

impl Postgres {
    /// Asks a run to stop; in the name of a run of a task, if there is a fence.
    pub(in crate::postgres) async fn try_cancel(
        &self,
        actor: Principal,
        run: RunId,
        fence: Option<&Fence>,
    ) -> Result<(Run, Vec<Event>), Fault> {
        let id = [run.0];
        let asked = id.as_slice();
        let session = self.session().await?;
        let streams = session.streams_of(asked).await?;
        let (actor_id, actor_kind) = (actor.id(), actor.kind());
        let steps: [Step<'_>; 3] =
            [(append::LOCK, &[&streams]), (LOCK, &[&asked]), (MAY_CANCEL, &[&run.0, &actor_id, &actor_kind])];
        let (transaction, [_, locked, may]) = session.begin_within(fence, steps).await?;
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
    let run = locked::read(locked.first().ok_or(NO_RUN)?)?;
    run.stoppable(may.value("sees")?, may.value("may")?)?;
    Ok(run)
}

impl Transaction<'_> {
    /// Ends the runs of an agent, of a room or all, and whatever is pending for them: the agent may not work any more. What is left
    /// of its runs elsewhere goes on. `locked` are the streams that [`Session::concerned_by`] gave, and others.
    ///
    /// # Errors
    ///
    /// As [`Self::leave`].
    pub(in crate::postgres) async fn end_runs(
        &self,
        agent: AgentId,
        room: Option<RoomId>,
        by: Sender,
        locked: &[Uuid],
    ) -> Result<Vec<Draft>, Fault> {
        let [open] = self.run([(OF_AGENT, &[&agent.0, &room.map(Uuid::from)])]).await?;
        let runs = self.locked_runs(&ids(&open)?).await?;
        let moves: Vec<Move<'_>> = runs.iter().filter_map(|run| run.moved(Change::AgentRevoked)).collect();
        self.move_runs(&moves, by, locked).await
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

impl Session {
    /// The streams to be locked for the end of an agent's runs, of a room or all. Those that are made until then need no other:
    /// they are in the rooms that it is in.
    pub(in crate::postgres) async fn concerned_by(
        &self,
        agent: AgentId,
        room: Option<RoomId>,
    ) -> Result<Vec<Uuid>, Fault> {
        let room = room.map(Uuid::from);
        let mut streams = self.streams_of(&ids(&self.query(OF_AGENT, &[&agent.0, &room]).await?)?).await?;
        streams.push(agent.0);
        match room {
            Some(room) => streams.push(room),
            None => {
                let rooms = self.query(ROOMS, &[&[agent.0].as_slice()]).await?;
                streams
                    .extend(rooms.iter().map(|row| row.value("room_id")).collect::<Result<Vec<Uuid>, _>>()?);
            }
        }
        Ok(streams)
    }
}
