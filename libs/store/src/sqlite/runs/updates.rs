//! What those lack of runs who follow them.

use domain::{AgentId, RoomId, RunId};
use rusqlite::Row;

use super::read::shown_reason;
use super::{DOC, PATCHES, UPDATE};
use crate::number::bigint;
use crate::runs::{DocChange, Known, RunUpdate, StoredDoc, StoredPatch};
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;

/// A run as it stands for somebody who knows this much of it; none when it is gone.
pub(super) fn update(tx: &Tx<'_>, known: Known) -> Result<Option<RunUpdate>, Fault> {
    let stands = tx.row(UPDATE, &[&known.run.0], |row| {
        Ok(RunUpdate {
            run: known.run,
            room: RoomId(row.value("room_id")?),
            agent: AgentId(row.value("agent_id")?),
            epoch: row.count("epoch")?,
            version: row.count("version")?,
            status: row.named("status")?,
            reason: shown_reason(row, tx.now())?,
            cancel_requested: row.value("cancel_requested")?,
            change: DocChange::Patches(Vec::new()),
        })
    })?;
    let Some(stands) = stands else { return Ok(None) };
    let change = change(tx, known, &stands)?;
    Ok(Some(RunUpdate { change, ..stands }))
}

/// The patches after the version that is known, if all are there; else the snapshot with those that follow on it. What is known is never
/// taken back: when patches were lost, and what is left of them ends before it, nothing is news.
fn change(tx: &Tx<'_>, known: Known, stands: &RunUpdate) -> Result<DocChange, Fault> {
    let begun = known.version > 0 && known.epoch == stands.epoch;
    if begun && known.version == stands.version {
        return Ok(DocChange::Patches(Vec::new()));
    }
    if begun && known.version < stands.version {
        let newer = following(tx, known.run, known.version)?;
        if newer.last().is_some_and(|patch| patch.version == stands.version) {
            return Ok(DocChange::Patches(newer));
        }
    }
    let (doc, version) = tx
        .row(DOC, &[&known.run.0], |row| Ok((row.value("doc")?, row.count("doc_version")?)))?
        .ok_or_else(|| Fault::internal("a run is gone"))?;
    let patches = following(tx, known.run, version)?;
    let end = patches.last().map_or(version, |patch| patch.version);
    if begun && end <= known.version {
        return Ok(DocChange::Patches(Vec::new()));
    }
    Ok(DocChange::Whole(StoredDoc { doc, version, patches }))
}

/// The patches that follow on a version without a hole.
fn following(tx: &Tx<'_>, run: RunId, version: u64) -> Result<Vec<StoredPatch>, Fault> {
    let mut patches = tx.rows(PATCHES, &[&run.0, &bigint(version)], patch)?;
    let whole = patches.iter().zip(version + 1..).take_while(|(patch, next)| patch.version == *next).count();
    patches.truncate(whole);
    Ok(patches)
}

fn patch(row: &Row<'_>) -> Result<StoredPatch, Fault> {
    Ok(StoredPatch { version: row.count("version")?, ops: row.value("ops")? })
}
