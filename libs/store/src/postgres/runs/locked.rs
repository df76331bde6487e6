//! Runs whose rows are locked, and the streams that go with them.

use std::time::Duration;

use domain::run::{Change, Standing};
use domain::{AgentId, Principal, RoomId, RunId, SlotSessionId};
use jiff::Timestamp;
use tokio_postgres::Row;
use uuid::Uuid;

use super::read::stored_reason;
use super::{LOCK, STREAMS};
use crate::postgres::pool::Session;
use crate::postgres::row::{self, Columns};
use crate::postgres::sqlstate::Fault;
use crate::postgres::transaction::Transaction;

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
        LockedRun::read_all(&rows)
    }
}

/// The column `id`.
pub(in crate::postgres) fn ids(rows: &[Row]) -> Result<Vec<Uuid>, Fault> {
    rows.iter().map(|row| row.value("id")).collect()
}

/// A run under its lock, as it stands.
#[derive(Debug, Clone)]
pub(in crate::postgres) struct LockedRun {
    pub(in crate::postgres) id: RunId,
    pub(in crate::postgres) room: RoomId,
    pub(in crate::postgres) agent: AgentId,
    pub(in crate::postgres) requester: Principal,
    pub(in crate::postgres) standing: Standing,
    pub(in crate::postgres) epoch: u64,
    pub(in crate::postgres) version: u64,
    pub(in crate::postgres) attempts: u32,
    pub(in crate::postgres) holder: Option<SlotSessionId>,
    lease_until: Option<Timestamp>,
    started_at: Option<Timestamp>,
    cancel_requested_at: Option<Timestamp>,
    queued_since: Timestamp,
    /// The database's clock, when the transaction began.
    now: Timestamp,
}

impl LockedRun {
    /// From a row of `runs/lock`.
    pub(in crate::postgres) fn read(row: &Row) -> Result<Self, Fault> {
        let cancel_requested_at: Option<Timestamp> = row.value("cancel_requested_at")?;
        let standing = Standing {
            status: row.named("status")?,
            reason: stored_reason(row)?,
            cancel_requested: cancel_requested_at.is_some(),
        };
        Ok(Self {
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
    pub(in crate::postgres) fn read_all(rows: &[Row]) -> Result<Vec<Self>, Fault> {
        rows.iter().map(Self::read).collect()
    }

    /// Where a change leads; none if it may not happen to a run that stands like this.
    pub(in crate::postgres) fn after(&self, change: Change) -> Option<Standing> {
        self.standing.after(change)
    }

    /// Whether whoever works on it has not been heard of for too long.
    pub(super) fn lease_is_over(&self) -> bool {
        self.lease_until.is_some_and(|until| until <= self.now)
    }

    /// How long somebody works on it, from its first start.
    pub(super) fn worked_on_for(&self) -> Option<Duration> {
        self.started_at.map(|since| self.ago(since))
    }

    /// How long it is to be stopped.
    pub(super) fn to_be_stopped_for(&self) -> Option<Duration> {
        self.cancel_requested_at.map(|since| self.ago(since))
    }

    /// How long it waits for a place, or to be taken.
    pub(super) fn queued_for(&self) -> Duration {
        self.ago(self.queued_since)
    }

    fn ago(&self, since: Timestamp) -> Duration {
        self.now.duration_since(since).try_into().unwrap_or_default()
    }
}

/// The column `attempts`.
pub(in crate::postgres) fn attempts(row: &Row) -> Result<u32, Fault> {
    let attempts: i32 = row.value("attempts")?;
    u32::try_from(attempts).map_err(|_| Fault::internal("attempts are negative"))
}
