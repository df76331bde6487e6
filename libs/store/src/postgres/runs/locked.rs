//! Runs whose rows are locked, and the streams that go with them.

use domain::run::Standing;
use domain::{AgentId, RoomId, RunId, SlotSessionId};
use jiff::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::read::stored_reason;
use super::{LOCK, STREAMS};
use crate::postgres::pool::Session;
use crate::postgres::row::{self, Columns};
use crate::postgres::sqlstate::Fault;
use crate::postgres::transaction::Transaction;
use crate::runs::locked::LockedRun;

impl Session {
    /// The streams that a change of these runs may write to, as things stand; to be locked, and looked at again.
    pub(in crate::postgres) async fn streams_of(&self, runs: &[Uuid]) -> Result<Vec<Uuid>, Fault> {
        if runs.is_empty() {
            return Ok(Vec::new());
        }
        ids(&self.query(STREAMS, &[&runs]).await?)
    }
}

impl Transaction<'_> {
    /// Locks runs, if there are any.
    pub(in crate::postgres) async fn locked_runs(&self, runs: &[Uuid]) -> Result<Vec<LockedRun>, Fault> {
        if runs.is_empty() {
            return Ok(Vec::new());
        }
        let [rows] = self.run([(LOCK, &[&runs])]).await?;
        read_all(&rows)
    }
}

/// The column `id`.
pub(in crate::postgres) fn ids(rows: &[Row]) -> Result<Vec<Uuid>, Fault> {
    rows.iter().map(|row| row.value("id")).collect()
}

/// From a row of `runs/lock`.
pub(in crate::postgres) fn read(row: &Row) -> Result<LockedRun, Fault> {
    let cancel_requested_at: Option<Timestamp> = row.value("cancel_requested_at")?;
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
        attempts: attempts(row)?,
        holder: row.value::<Option<Uuid>>("holder_session_id")?.map(SlotSessionId),
        lease_until: row.value("lease_until")?,
        started_at: row.value("started_at")?,
        cancel_requested_at,
        queued_since: row.value("queued_since")?,
        now: row.value("now")?,
    })
}

/// All rows of `runs/lock`.
pub(super) fn read_all(rows: &[Row]) -> Result<Vec<LockedRun>, Fault> {
    rows.iter().map(read).collect()
}

/// The column `attempts`.
pub(in crate::postgres) fn attempts(row: &Row) -> Result<u32, Fault> {
    let attempts: i32 = row.value("attempts")?;
    u32::try_from(attempts).map_err(|_| Fault::internal("attempts are negative"))
}
