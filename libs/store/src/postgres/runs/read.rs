//! Reading runs and their documents.

use std::sync::Arc;

use domain::run::Reason;
use domain::{AgentId, RoomId, RunId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::UPDATES;
use super::locked::attempts;
use crate::error::StoreError;
use crate::postgres::Postgres;
use crate::postgres::row::{self, Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::runs::{DocChange, Known, Run, RunUpdate, StoredDoc, StoredPatch};

/// A run from the view `run_documents`.
pub(super) fn run(row: &Row) -> Result<Run, Fault> {
    let hops: i32 = row.value("hops")?;
    Ok(Run {
        id: RunId(row.value("id")?),
        room: RoomId(row.value("room_id")?),
        agent: AgentId(row.value("agent_id")?),
        requester: row::principal(row, "requester_kind", "requester_id")?,
        input: Arc::from(row.value::<&str>("input")?),
        status: row.named("status")?,
        reason: shown_reason(row)?,
        error: row.value("error")?,
        epoch: row.count("epoch")?,
        version: row.count("version")?,
        hops: u32::try_from(hops).map_err(|_| Fault::internal("hops are negative"))?,
        attempts: attempts(row)?,
        cancel_requested: row.value("cancel_requested")?,
        created_at: row.value("created_at")?,
        started_at: row.value("started_at")?,
        finished_at: row.value("finished_at")?,
        doc: StoredDoc {
            doc: Arc::from(row.value::<&str>("doc")?),
            version: row.count("doc_version")?,
            patches: patches(row)?,
        },
    })
}

/// The one run that a transaction was about.
pub(super) fn the_run(rows: &[Row]) -> Result<Run, Fault> {
    run(rows.first().ok_or_else(|| Fault::internal("a run is gone"))?)
}

/// A page of `runs/list`.
pub(super) fn page(rows: &[Row]) -> Result<Option<Vec<Run>>, Fault> {
    if rows.is_empty() {
        return Ok(None);
    }
    let mut runs = Vec::with_capacity(rows.len());
    for row in rows {
        if row.value::<Option<Uuid>>("id")?.is_some() {
            runs.push(run(row)?);
        }
    }
    Ok(Some(runs))
}

/// The reason that is stored, or that nobody of the agent is connected.
fn shown_reason(row: &Row) -> Result<Option<Reason>, Fault> {
    let reason = stored_reason(row)?;
    Ok(if row.value("agent_live")? { reason } else { reason.map(Reason::while_offline) })
}

/// The column `reason`.
pub(super) fn stored_reason(row: &Row) -> Result<Option<Reason>, Fault> {
    row.value::<Option<&str>>("reason")?
        .map(str::parse)
        .transpose()
        .map_err(|error: domain::Invalid| Fault::internal(error.to_string()))
}

/// Patches from the columns `versions` and `ops`.
fn patches(row: &Row) -> Result<Vec<StoredPatch>, Fault> {
    let (versions, ops): (Vec<i64>, Vec<&str>) = (row.value("versions")?, row.value("ops")?);
    versions
        .into_iter()
        .zip(ops)
        .map(|(version, ops)| {
            let version = u64::try_from(version).map_err(|_| Fault::internal("a version is negative"))?;
            Ok(StoredPatch { version, ops: Arc::from(ops) })
        })
        .collect()
}

impl Postgres {
    pub(super) async fn updates(&self, known: &[Known]) -> Result<Vec<RunUpdate>, StoreError> {
        let runs: Vec<Uuid> = known.iter().map(|known| known.run.0).collect();
        let epochs: Vec<i64> = known.iter().map(|known| bigint(known.epoch)).collect();
        let versions: Vec<i64> = known.iter().map(|known| bigint(known.version)).collect();
        let rows = self.rows(UPDATES, &[&runs, &epochs, &versions]).await?;
        Ok(updates(known, &rows)?)
    }
}

/// The rows are those of runs that are there, in the order asked for.
fn updates(known: &[Known], rows: &[Row]) -> Result<Vec<RunUpdate>, Fault> {
    let mut asked = known.iter();
    let mut updates = Vec::with_capacity(rows.len());
    for row in rows {
        let id: Uuid = row.value("id")?;
        if let Some(known) = asked.find(|known| known.run.0 == id) {
            updates.push(update(known, row)?);
        }
    }
    Ok(updates)
}

fn update(known: &Known, row: &Row) -> Result<RunUpdate, Fault> {
    let epoch = row.count("epoch")?;
    Ok(RunUpdate {
        run: RunId(row.value("id")?),
        room: RoomId(row.value("room_id")?),
        agent: AgentId(row.value("agent_id")?),
        epoch,
        version: row.count("version")?,
        status: row.named("status")?,
        reason: shown_reason(row)?,
        cancel_requested: row.value("cancel_requested")?,
        change: change(known, epoch, row)?,
    })
}

/// What is known is never taken back: when patches were lost, and what is left of them ends before it, nothing is news.
fn change(known: &Known, epoch: u64, row: &Row) -> Result<DocChange, Fault> {
    let patches = patches(row)?;
    let Some(doc) = row.value::<Option<&str>>("doc")? else { return Ok(DocChange::Patches(patches)) };
    let version = row.count("begins")?;
    let end = patches.last().map_or(version, |patch| patch.version);
    if known.version > 0 && known.epoch == epoch && end <= known.version {
        return Ok(DocChange::Patches(Vec::new()));
    }
    Ok(DocChange::Whole(StoredDoc { doc: Arc::from(doc), version, patches }))
}
