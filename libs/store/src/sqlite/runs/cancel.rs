//! Asking for a run to be stopped, and stopping all runs of an agent.

use domain::run::Change;
use domain::{AgentId, Event, MemberRole, Principal, RoomId, RunId, Sender};
use uuid::Uuid;

use super::moves::move_runs;
use super::read::{locked_run, locked_runs, the_run};
use super::{ASK_TO_STOP, MAY_CANCEL, OF_AGENT};
use crate::log::draft::Draft;
use crate::number::bigint;
use crate::runs::Run;
use crate::runs::events::to_be_stopped;
use crate::runs::locked::{LockedRun, Move};
use crate::runs::rules::NO_RUN;
use crate::sqlite::append::append_all;
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;

/// Asks a run to stop.
pub(in crate::sqlite) fn cancel(
    tx: &Tx<'_>,
    actor: Principal,
    id: RunId,
) -> Result<(Run, Vec<Event>), Fault> {
    let run = locked_run(tx, id)?.ok_or(NO_RUN)?;
    let (own, role) = tx
        .row(MAY_CANCEL, &[&id.0, &actor.id(), &actor.kind()], |row| {
            Ok((row.value::<bool>("own")?, row.value::<Option<String>>("role")?))
        })?
        .ok_or(NO_RUN)?;
    let owns_room = role.as_deref() == Some(MemberRole::Owner.as_str());
    let may = own || owns_room || (role.is_some() && run.requester == actor);
    run.stoppable(own || role.is_some(), may)?;
    let events = append_all(tx, &stop(tx, &run, actor.into())?)?;
    Ok((the_run(tx, id)?, events))
}

/// Ends a run that is queued, marks one that is worked on. What is over or marked stays as it is.
fn stop(tx: &Tx<'_>, run: &LockedRun, by: Sender) -> Result<Vec<Draft>, Fault> {
    let Some(one) = run.moved(Change::Cancel) else { return Ok(Vec::new()) };
    if one.to.status.is_final() {
        return move_runs(tx, &[one], by);
    }
    if run.standing.cancel_requested {
        return Ok(Vec::new());
    }
    tx.execute(ASK_TO_STOP, &[&run.id.0, &bigint(run.epoch), &tx.micros()])?;
    Ok(vec![to_be_stopped(run, by)?])
}

/// Ends the runs of an agent, of a room or all, and whatever is pending for them: the agent may not work any more. What is left
/// of its runs elsewhere goes on. Gives what is to be appended.
pub(in crate::sqlite) fn end_runs(
    tx: &Tx<'_>,
    agent: AgentId,
    room: Option<RoomId>,
    by: Sender,
) -> Result<Vec<Draft>, Fault> {
    let room = room.map(Uuid::from);
    let open: Vec<Uuid> = tx.rows(OF_AGENT, &[&agent.0, &room], |row| row.value("id"))?;
    let runs = locked_runs(tx, &open)?;
    let moves: Vec<Move<'_>> = runs.iter().filter_map(|run| run.moved(Change::AgentRevoked)).collect();
    move_runs(tx, &moves, by)
}
