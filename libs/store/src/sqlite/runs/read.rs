//! Reading runs and their documents.

use std::sync::Arc;

use domain::run::{Reason, Standing};
use domain::{AgentId, Principal, RoomId, RunId, SlotSessionId};
use jiff::Timestamp;
use rusqlite::Row;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::{MEMBER, READ, STAND};
use crate::runs::locked::LockedRun;
use crate::runs::{Run, StoredDoc, StoredPatch};
use crate::sqlite::fault::Fault;
use crate::sqlite::row::{self, Columns};
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::array;

/// Whether somebody is in a room, and neither disabled nor revoked.
pub(super) fn is_member(tx: &Tx<'_>, room: RoomId, member: Principal) -> Result<bool, Fault> {
    tx.exists(MEMBER, &[&room.0, &member.id(), &member.kind()])
}

/// The run that a transaction is about.
pub(super) fn the_run(tx: &Tx<'_>, id: RunId) -> Result<Run, Fault> {
    tx.row(READ, &[&id.0], |row| run(row, tx.now()))?.ok_or_else(|| Fault::internal("a run is gone"))
}

/// A run from the view `run_documents`.
pub(super) fn run(row: &Row<'_>, now: Timestamp) -> Result<Run, Fault> {
    Ok(Run {
        id: RunId(row.value("id")?),
        room: RoomId(row.value("room_id")?),
        agent: AgentId(row.value("agent_id")?),
        requester: row::principal(row, "requester_kind", "requester_id")?,
        input: row.value("input")?,
        status: row.named("status")?,
        reason: shown_reason(row, now)?,
        error: row.value("error")?,
        epoch: row.count("epoch")?,
        version: row.count("version")?,
        hops: row.value("hops")?,
        attempts: row.value("attempts")?,
        cancel_requested: row.value("cancel_requested")?,
        created_at: row.time("created_at")?,
        started_at: row.time_if_any("started_at")?,
        finished_at: row.time_if_any("finished_at")?,
        doc: StoredDoc { doc: row.value("doc")?, version: row.count("doc_version")?, patches: patches(row)? },
    })
}

/// Patches from the columns `versions` and `ops`, which are JSON arrays.
fn patches(row: &Row<'_>) -> Result<Vec<StoredPatch>, Fault> {
    let (versions, ops): (Vec<u64>, Vec<Arc<str>>) = (json(row, "versions")?, json(row, "ops")?);
    Ok(versions.into_iter().zip(ops).map(|(version, ops)| StoredPatch { version, ops }).collect())
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: &str) -> Result<T, Fault> {
    serde_json::from_str(row.text(column)?)
        .map_err(|error| Fault::internal(format!("column {column}: {error}")))
}

/// The reason that is stored, or that nobody of the agent is connected.
pub(super) fn shown_reason(row: &Row<'_>, now: Timestamp) -> Result<Option<Reason>, Fault> {
    let reason = stored_reason(row)?;
    let live = row.time_if_any("agent_live_until")?.is_some_and(|until| until > now);
    Ok(if live { reason } else { reason.map(Reason::while_offline) })
}

/// The column `reason`.
fn stored_reason(row: &Row<'_>) -> Result<Option<Reason>, Fault> {
    row.value::<Option<String>>("reason")?
        .map(|reason| reason.parse())
        .transpose()
        .map_err(|error: domain::Invalid| Fault::internal(error.to_string()))
}

/// A run as it stands; nobody changes it while the transaction lasts.
pub(in crate::sqlite) fn locked_run(tx: &Tx<'_>, run: RunId) -> Result<Option<LockedRun>, Fault> {
    Ok(locked_runs(tx, &[run.0])?.pop())
}

/// Runs as they stand, by id.
pub(in crate::sqlite) fn locked_runs(tx: &Tx<'_>, runs: &[Uuid]) -> Result<Vec<LockedRun>, Fault> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    tx.rows(STAND, &[&array(runs.iter().copied())], |row| locked(row, tx.now()))
}

fn locked(row: &Row<'_>, now: Timestamp) -> Result<LockedRun, Fault> {
    let cancel_requested_at = row.time_if_any("cancel_requested_at")?;
    let standing = Standing {
        status: row.named("status")?,
        reason: stored_reason(row)?,
        cancel_requested: cancel_requested_at.is_some(),
    };
    Ok(LockedRun {
        id: RunId(row.value("id")?),
        room: RoomId(row.value("room_id")?),
        agent: AgentId(row.value("agent_id")?),
        requester: row::principal(row, "requester_kind", "requester_id")?,
        standing,
        epoch: row.count("epoch")?,
        version: row.count("version")?,
        attempts: row.value("attempts")?,
        holder: row.value::<Option<Uuid>>("holder_session_id")?.map(SlotSessionId),
        lease_until: row.time_if_any("lease_until")?,
        started_at: row.time_if_any("started_at")?,
        cancel_requested_at,
        queued_since: row.time("queued_since")?,
        now,
    })
}
