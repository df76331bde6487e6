//! Starting a run.

use std::time::Duration;

use domain::{RunId, SlotSessionId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{LOCK_AGENT, READ, START, read};
use crate::consumers::NOT_HELD;
use crate::postgres::Postgres;
use crate::postgres::interval::micros;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::runs::Started;
use crate::runs::rules::{NO_RUN, NOT_OFFERED, NOT_QUEUED};

impl Postgres {
    pub(super) async fn try_start(
        &self,
        session: SlotSessionId,
        run: RunId,
        lease: Duration,
    ) -> Result<Started, Fault> {
        let asked = vec![run.0];
        let [_, verdict, found] = self
            .session()
            .await?
            .transact([
                (LOCK_AGENT, &[&run.0]),
                (START, &[&session.0, &run.0, &micros(lease)]),
                (READ, &[&asked]),
            ])
            .await?;
        let fresh = started(&verdict)?;
        Ok(Started { run: read::the_run(&found)?, fresh })
    }
}

/// True when it was started now, false when it was before.
fn started(rows: &[Row]) -> Result<bool, Fault> {
    let row = rows.first().ok_or(NO_RUN)?;
    if row.value::<Option<Uuid>>("agent_id")?.is_none() {
        return Err(NOT_HELD.into());
    }
    if row.value("started")? {
        return Ok(true);
    }
    if row.value::<Option<bool>>("own")? != Some(true) {
        return Err(NO_RUN.into());
    }
    if row.value::<Option<bool>>("running")? == Some(true) {
        return Ok(false);
    }
    Err(if row.value("waits")? { NOT_OFFERED } else { NOT_QUEUED }.into())
}
