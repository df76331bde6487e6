//! Taking a consumer's place.
//!
//! Who identifies takes the runs from the former holder: they go back to the queue and are told anew, at places they keep.
//! Who resumes goes on with them. The same connection that asks again, after a lost answer, keeps what it has.

use domain::{ConsumerId, RunId, Sender, SlotSessionId};
use rusqlite::Row;
use uuid::Uuid;

use super::{AGENT, HELD, STAND, STAY, TAKE, UNTOLD};
use crate::consumers::{Claim, ConsumerOutcome, ConsumerSlot, TakeConsumer};
use crate::number::bigint;
use crate::runs::locked::{LockedRun, Move};
use crate::sqlite::append::append;
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::runs::TRANSFER;
use crate::sqlite::runs::moves::{move_runs, requested};
use crate::sqlite::runs::read::locked_runs;
use crate::sqlite::transaction::Tx;

/// A place before it is taken.
struct Place {
    consumer: Uuid,
    name: String,
    epoch: u64,
    session: Uuid,
    connection: Uuid,
    live: bool,
}

fn read(row: &Row<'_>) -> Result<Place, Fault> {
    Ok(Place {
        consumer: row.value("id")?,
        name: row.value("name")?,
        epoch: row.count("epoch")?,
        session: row.value("holder_session_id")?,
        connection: row.value("connection_id")?,
        live: row.value("live")?,
    })
}

pub(super) fn take(tx: &Tx<'_>, attempt: &TakeConsumer) -> Result<ConsumerOutcome, Fault> {
    if !tx.exists(AGENT, &[&attempt.agent.0])? {
        return Ok(ConsumerOutcome::UnknownAgent);
    }
    let (name, session) = match &attempt.claim {
        Claim::Identify { name } => (Some(name), None),
        Claim::Resume { session } => (None, Some(session.0)),
    };
    let place =
        tx.row(STAND, &[&attempt.agent.0, &name, &session, &attempt.connection.0, &tx.micros()], read)?;
    match (name, place) {
        (Some(name), place) => identify(tx, attempt, name, place),
        (None, Some(place)) => resume(tx, attempt, &place),
        (None, None) => Ok(ConsumerOutcome::NotResumable),
    }
}

fn identify(
    tx: &Tx<'_>,
    attempt: &TakeConsumer,
    name: &str,
    place: Option<Place>,
) -> Result<ConsumerOutcome, Fault> {
    if let Some(place) = place.as_ref().filter(|place| place.connection == attempt.connection.0) {
        return stay(tx, attempt, place, Vec::new());
    }
    let held = place.as_ref().map(|place| held_by(tx, place.session)).transpose()?.unwrap_or_default();
    let runs = locked_runs(tx, &held)?;
    let moves: Vec<Move<'_>> = runs.iter().filter_map(LockedRun::handed_back).collect();
    let drafts = move_runs(tx, &moves, Sender::System)?;
    let slot = occupy(tx, attempt, name, place.is_some_and(|place| place.live))?;
    let mut events = append(tx, &drafts)?;
    let untold = tx.rows(UNTOLD, &[&attempt.agent.0, &bigint(slot.cursor)], requested)?;
    events.extend(append(tx, &untold)?);
    Ok(ConsumerOutcome::Taken { slot, events, runs: moves.iter().map(|one| one.run.id).collect() })
}

fn resume(tx: &Tx<'_>, attempt: &TakeConsumer, place: &Place) -> Result<ConsumerOutcome, Fault> {
    if place.connection == attempt.connection.0 {
        return stay(tx, attempt, place, held_by(tx, place.session)?);
    }
    let slot = occupy(tx, attempt, &place.name, place.live)?;
    let until = tx.after(attempt.live_for);
    let runs =
        tx.rows(TRANSFER, &[&place.session, &slot.session.0, &until], |row| Ok(RunId(row.value("id")?)))?;
    Ok(ConsumerOutcome::Taken { slot, events: Vec::new(), runs })
}

/// The runs that a session works on.
fn held_by(tx: &Tx<'_>, session: Uuid) -> Result<Vec<Uuid>, Fault> {
    tx.rows(HELD, &[&session], |row| row.value("id"))
}

/// Takes the place.
fn occupy(tx: &Tx<'_>, attempt: &TakeConsumer, name: &str, contested: bool) -> Result<ConsumerSlot, Fault> {
    let taken = tx.row(
        TAKE,
        &[
            &ConsumerId::new().0,
            &attempt.agent.0,
            &name,
            &attempt.session.0,
            &attempt.connection.0,
            &attempt.node.0,
            &tx.after(attempt.live_for),
            &tx.micros(),
        ],
        |row| slot(attempt, row, contested),
    )?;
    taken.ok_or_else(|| Fault::internal("a consumer's place is not there"))
}

/// Leaves the place with the connection that has it. Whether somebody else had it before is not known any more, so
/// it is contested unless nobody ever had.
fn stay(
    tx: &Tx<'_>,
    attempt: &TakeConsumer,
    place: &Place,
    runs: Vec<Uuid>,
) -> Result<ConsumerOutcome, Fault> {
    let until = tx.after(attempt.live_for);
    let kept =
        tx.row(STAY, &[&place.consumer, &attempt.node.0, &until], |row| slot(attempt, row, place.epoch > 1))?;
    let slot = kept.ok_or_else(|| Fault::internal("a consumer's place is not there"))?;
    Ok(ConsumerOutcome::Taken { slot, events: Vec::new(), runs: runs.into_iter().map(RunId).collect() })
}

fn slot(attempt: &TakeConsumer, row: &Row<'_>, contested: bool) -> Result<ConsumerSlot, Fault> {
    Ok(ConsumerSlot {
        consumer: ConsumerId(row.value("id")?),
        agent: attempt.agent,
        session: SlotSessionId(row.value("holder_session_id")?),
        epoch: row.count("epoch")?,
        cursor: row.count("cursor")?,
        contested,
    })
}
