//! Claiming runs.

use std::time::Duration;

use domain::{TaskId, TaskRunId, UserId, WorkerSessionId};
use rusqlite::Row;
use uuid::Uuid;

use super::{ADVANCE, CLAIM, CLAIMED, is_good, plan};
use crate::queue::{ClaimedRun, OwnerStanding};
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::tasks::scheduler_is_on;
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::array;
use crate::tasks::SigningKey;

/// Gives a session that is good the runs that are next in line, from a turn on.
pub(super) fn claim(
    tx: &Tx<'_>,
    session: WorkerSessionId,
    budget: u32,
    floor: i64,
) -> Result<Vec<ClaimedRun>, Fault> {
    if budget == 0 || !is_good(tx, session)? || !scheduler_is_on(tx)? {
        return Ok(Vec::new());
    }
    let claimed: Vec<Uuid> =
        tx.rows(CLAIM, &[&session.0, &tx.micros(), &floor, &budget], |row| row.value("id"))?;
    if claimed.is_empty() {
        return Ok(Vec::new());
    }
    let claimed = array(claimed);
    tx.execute(ADVANCE, &[&claimed])?;
    tx.rows(CLAIMED, &[&claimed], claimed_run)
}

fn claimed_run(row: &Row<'_>) -> Result<ClaimedRun, Fault> {
    Ok(ClaimedRun {
        id: TaskRunId(row.value("id")?),
        task: TaskId(row.value("task_id")?),
        owner: UserId(row.value("owner_id")?),
        standing: match (row.value("owner_disabled")?, row.value("owner_is_admin")?) {
            (true, _) => OwnerStanding::Disabled,
            (false, true) => OwnerStanding::Admin,
            (false, false) => OwnerStanding::Person,
        },
        chain: TaskRunId(row.value("chain_id")?),
        epoch: row.count("epoch")?,
        attempt: row.value("attempt")?,
        trigger: row.named("trigger")?,
        scheduled_for: row.time("scheduled_for")?,
        due_at: row.time("due_at")?,
        started_at: row.time("started_at")?,
        turn: row.value("turn")?,
        cancel_requested: row.value("cancel_requested")?,
        delivery: row.value("delivery_id")?,
        input: row.value("input")?,
        trace: row.value("trace")?,
        name: row.value("name")?,
        action: serde_json::from_str(row.text("action")?).ok(),
        max_runtime: Duration::from_millis(row.count("max_runtime_ms")?),
        webhook_key: row.value::<Option<Vec<u8>>>("webhook_key")?.map(SigningKey),
        plan: plan(row)?,
    })
}
