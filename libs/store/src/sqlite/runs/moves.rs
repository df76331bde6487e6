//! Moving runs, and what follows from it: calls of tools that nobody waits for any more are cancelled, free places are given to
//! the next runs, and everybody concerned is told.

use std::collections::BTreeSet;

use domain::run::Reason;
use domain::{AgentId, RoomId, RunId, RunStatus, Sender};
use jiff::Timestamp;
use rusqlite::Row;
use uuid::Uuid;

use super::{MOVE, NEXT, OFFER, PLACES, REQUEST};
use crate::log::draft::Draft;
use crate::number::bigint;
use crate::runs::events::{Request, finished};
use crate::runs::locked::{LockedRun, Move};
use crate::sqlite::fault::Fault;
use crate::sqlite::notifications::withdraw;
use crate::sqlite::row::{self, Columns};
use crate::sqlite::tools;
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::array;

/// Moves runs, in somebody's name. Gives what is to be appended.
pub(in crate::sqlite) fn move_runs(tx: &Tx<'_>, moves: &[Move<'_>], by: Sender) -> Result<Vec<Draft>, Fault> {
    for Move { run, to, refund } in moves {
        let moved = tx.execute(
            MOVE,
            &[
                &run.id.0,
                &bigint(run.epoch),
                &run.standing.status.as_str(),
                &to.status.as_str(),
                &to.reason.map(Reason::as_str),
                refund,
                &tx.micros(),
            ],
        )?;
        if moved != 1 {
            return Err(Fault::internal("a run moved in the transaction that looked at it"));
        }
    }
    let left: Vec<_> = moves.iter().map(|one| (one.run, one.to.status)).collect();
    leave(tx, &left, by)
}

/// What follows when runs have left their holder or their queue, each with where it stands now. Gives what is to be appended.
pub(super) fn leave(tx: &Tx<'_>, runs: &[(&LockedRun, RunStatus)], by: Sender) -> Result<Vec<Draft>, Fault> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<Uuid> = runs.iter().map(|(run, _)| run.id.0).collect();
    let cancelled = tools::cancel(tx, &ids)?;
    let calls: Vec<Uuid> = cancelled.iter().map(|call| call.call.0).collect();
    withdraw(tx, &calls)?;
    let offered = offer(tx, runs.iter().map(|(run, _)| run.agent))?;
    let mut drafts = Vec::with_capacity(cancelled.len() * 2 + runs.len() + offered.len());
    for call in &cancelled {
        drafts.extend(call.drafts(by)?);
    }
    for (run, status) in runs {
        drafts.push(match status {
            RunStatus::Queued => {
                tx.row(REQUEST, &[&run.id.0], requested)?.ok_or_else(|| Fault::internal("a run is gone"))?
            }
            status => finished(run, *status, by)?,
        });
    }
    drafts.extend(offered);
    Ok(drafts)
}

/// A run that gets a place.
struct Next {
    created_at: Timestamp,
    id: Uuid,
    told: Draft,
}

/// Gives the free places of agents to their next runs: `run.requested` for each, to be appended.
pub(in crate::sqlite) fn offer(
    tx: &Tx<'_>,
    agents: impl IntoIterator<Item = AgentId>,
) -> Result<Vec<Draft>, Fault> {
    let mut next = Vec::new();
    for agent in agents.into_iter().collect::<BTreeSet<_>>() {
        let free: Option<i64> = tx.row(PLACES, &[&agent.0], |row| row.value("free"))?;
        if let Some(free) = free.filter(|free| *free > 0) {
            next.extend(tx.rows(NEXT, &[&agent.0, &free], read_next)?);
        }
    }
    if next.is_empty() {
        return Ok(Vec::new());
    }
    tx.execute(OFFER, &[&array(next.iter().map(|next| next.id)), &tx.micros()])?;
    next.sort_by_key(|next| (next.created_at, next.id));
    Ok(next.into_iter().map(|next| next.told).collect())
}

fn read_next(row: &Row<'_>) -> Result<Next, Fault> {
    Ok(Next { created_at: row.time("created_at")?, id: row.value("id")?, told: requested(row)? })
}

/// `run.requested`, from the columns `id, room_id, agent_id, requester_kind, requester_id, input`.
pub(in crate::sqlite) fn requested(row: &Row<'_>) -> Result<Draft, Fault> {
    let request = Request {
        run: RunId(row.value("id")?),
        room: RoomId(row.value("room_id")?),
        agent: AgentId(row.value("agent_id")?),
        requester: row::principal(row, "requester_kind", "requester_id")?,
        input: row.text("input")?,
    };
    Ok(request.draft()?)
}
