//! Starting a run.

use std::time::Duration;

use domain::{AgentId, RunId, RunStatus, SlotSessionId};
use rusqlite::Row;
use uuid::Uuid;

use super::patches::drop_before;
use super::read::the_run;
use super::{START, STARTABLE};
use crate::consumers::NOT_HELD;
use crate::runs::Started;
use crate::runs::rules::{NO_RUN, NOT_OFFERED, NOT_QUEUED};
use crate::sqlite::consumers::place_of;
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;

/// A run that somebody wants to start.
struct Startable {
    agent: AgentId,
    status: RunStatus,
    holder: Option<SlotSessionId>,
    offered: bool,
}

fn startable(row: &Row<'_>) -> Result<Startable, Fault> {
    Ok(Startable {
        agent: AgentId(row.value("agent_id")?),
        status: row.named("status")?,
        holder: row.value::<Option<Uuid>>("holder_session_id")?.map(SlotSessionId),
        offered: row.value("offered")?,
    })
}

/// Starts a run for a session that holds a place of its agent.
pub(super) fn start(
    tx: &Tx<'_>,
    session: SlotSessionId,
    run: RunId,
    lease: Duration,
) -> Result<Started, Fault> {
    let found = tx.row(STARTABLE, &[&run.0], startable)?.ok_or(NO_RUN)?;
    let place = place_of(tx, session)?.ok_or(NOT_HELD)?;
    if found.agent != place.agent {
        return Err(NO_RUN.into());
    }
    // It asks again for what it works on.
    if found.status.is_active() && found.holder == Some(session) {
        return Ok(Started { run: the_run(tx, run)?, fresh: false });
    }
    if found.status != RunStatus::Queued {
        return Err(NOT_QUEUED.into());
    }
    if !found.offered {
        return Err(NOT_OFFERED.into());
    }
    tx.execute(START, &[&run.0, &session.0, &tx.after(lease), &tx.micros()])?;
    drop_before(tx, run, u64::MAX)?;
    Ok(Started { run: the_run(tx, run)?, fresh: true })
}
