//! What the history of tasks need not keep.

use std::time::Duration;

use domain::TaskId;
use uuid::Uuid;

use super::{BURY, FORGET, PAGE, SURPLUS, TRIM, TRIM_DELIVERIES};
use crate::error::StoreError;
use crate::retention::{TaskRunLimits, TrimmedTaskRuns};
use crate::sqlite::Sqlite;
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;

/// Tasks that one batch looks at.
const TASKS_AT_ONCE: u32 = 100;

impl Sqlite {
    /// `Retention::trim_task_runs`.
    pub(in crate::sqlite) async fn trim_history(
        &self,
        limits: TaskRunLimits,
        after: Option<TaskId>,
        batch: u32,
    ) -> Result<TrimmedTaskRuns, StoreError> {
        self.write(move |tx| {
            let (runs, last) = trim_runs(tx, limits, after, batch)?;
            let deliveries = tx.execute(TRIM_DELIVERIES, &[&tx.before(limits.deliveries), &batch])? as u64;
            let tasks = tx.execute(BURY, &[&batch])? as u64;
            Ok(TrimmedTaskRuns { runs, deliveries, tasks, next: None }.going_on(batch, after, last))
        })
        .await
    }
}

/// Removes at most `batch` runs of a page of tasks. How many, and the last task of the page, if it is full.
fn trim_runs(
    tx: &Tx<'_>,
    limits: TaskRunLimits,
    after: Option<TaskId>,
    batch: u32,
) -> Result<(u64, Option<TaskId>), Fault> {
    let after = after.map_or(Uuid::nil(), Uuid::from);
    let page = tx.rows(PAGE, &[&after, &TASKS_AT_ONCE], |row| {
        Ok((row.value::<Uuid>("id")?, row.value::<bool>("deleted")?))
    })?;
    let old = Old::of(tx, limits.max_age);
    let mut left = u64::from(batch);
    for (task, deleted) in &page {
        if left == 0 {
            break;
        }
        let too_many = if *deleted { Uuid::max() } else { too_many(tx, *task, limits.max_per_task)? };
        let end = too_many.max(old.before);
        if end.is_nil() {
            continue;
        }
        let gone = tx.execute(TRIM, &[task, &too_many, &old.before, &old.over, &end, &(left as i64)])?;
        if gone > 0 && !deleted {
            tx.execute(FORGET, &[task, &(gone as i64)])?;
        }
        left = left.saturating_sub(gone as u64);
    }
    let is_full = page.len() as u64 >= u64::from(TASKS_AT_ONCE);
    let last = page.last().filter(|_| is_full).map(|(task, _)| TaskId(*task));
    Ok((u64::from(batch) - left, last))
}

/// The newest run of a task that is one too many: no id is as low as the one for none.
fn too_many(tx: &Tx<'_>, task: Uuid, most: u32) -> Result<Uuid, Fault> {
    if most == 0 {
        return Ok(Uuid::nil());
    }
    Ok(tx.row(SURPLUS, &[&task, &most], |row| row.value("id"))?.unwrap_or_default())
}

/// What is old.
struct Old {
    /// It has an id before this.
    before: Uuid,
    /// And was over before this time.
    over: i64,
}

impl Old {
    fn of(tx: &Tx<'_>, max_age: Duration) -> Self {
        if max_age.is_zero() {
            return Self { before: Uuid::nil(), over: 0 };
        }
        let over = tx.before(max_age);
        // Ids count in milliseconds: this is the first of the one after.
        let millis = u128::from(u64::try_from(over / 1000 + 1).unwrap_or_default());
        Self { before: Uuid::from_u128(millis << 80), over }
    }
}
