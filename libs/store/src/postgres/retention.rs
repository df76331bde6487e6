//! Retention of the log in PostgreSQL: removing the oldest events, the floor moved in the same commit.
//!
//! Streams are looked at in windows, by id, without a lock. Those that hold too much are trimmed a few at a time under
//! their locks, in short transactions. A stream that somebody holds just then is passed over and found
//! again by a later call: nobody waits for retention, and it waits for nobody.

use std::time::Duration;

use async_trait::async_trait;
use domain::TaskId;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::StoreError;
use crate::postgres::interval::micros;
use crate::postgres::notifications::TRIM as TRIM_NOTIFICATIONS;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::{Postgres, repeated};
use crate::retention::{EventLimits, Reaped, Retention, TaskRunLimits, TrimmedTaskRuns};

statements! {
    CANDIDATES = "retention/candidates";
    LOCK = "retention/lock";
    TRIM = "retention/trim";
}

/// Streams looked at in one statement: some ten milliseconds.
const WINDOW: i64 = 5_000;
/// Streams trimmed in one transaction.
const TOGETHER: usize = 16;
/// Events removed in one transaction: senders to its streams wait that long, a few milliseconds.
const AT_ONCE: u64 = 500;

/// A window of streams, looked at.
struct Window {
    spent: Vec<Uuid>,
    /// The last stream of the window; none when there was no stream left to look at.
    last: Option<Uuid>,
}

#[async_trait]
impl Retention for Postgres {
    async fn reap(
        &self,
        dead_after: Duration,
        sessions_after: Duration,
        batch: u32,
    ) -> Result<Reaped, StoreError> {
        self.reap_spent(dead_after, sessions_after, batch).await
    }

    async fn trim_events(&self, limits: EventLimits, batch: u32) -> Result<u64, StoreError> {
        self.trim(limits, batch).await
    }

    async fn trim_notifications(&self, max_age: Duration, batch: u32) -> Result<u64, StoreError> {
        Ok(self.rows(TRIM_NOTIFICATIONS, &[&micros(max_age), &i64::from(batch)]).await?.len() as u64)
    }

    async fn trim_task_runs(
        &self,
        limits: TaskRunLimits,
        after: Option<TaskId>,
        batch: u32,
    ) -> Result<TrimmedTaskRuns, StoreError> {
        self.trim_history(limits, after, batch).await
    }
}

impl Postgres {
    /// Removes at most `batch` events beyond the limits; answers how many.
    async fn trim(&self, limits: EventLimits, batch: u32) -> Result<u64, StoreError> {
        let most = u64::from(batch);
        let mut removed = 0;
        if limits.max_age.is_zero() && limits.max_per_stream == 0 {
            return Ok(0);
        }
        let mut after = Some(Uuid::nil());
        while let Some(begin) = after {
            let window = self.window(begin, limits).await?;
            for group in window.spent.chunks(TOGETHER) {
                loop {
                    let quota = AT_ONCE.min(most - removed);
                    if quota == 0 {
                        return Ok(removed);
                    }
                    let gone = repeated!(self.trim_group(group, quota, limits))?;
                    removed += gone;
                    if gone < quota {
                        break;
                    }
                }
            }
            after = window.last;
        }
        Ok(removed)
    }

    async fn window(&self, after: Uuid, limits: EventLimits) -> Result<Window, StoreError> {
        let (age, count) = (micros(limits.max_age), bigint(limits.max_per_stream));
        let rows = self.rows(CANDIDATES, &[&after, &WINDOW, &age, &count]).await?;
        Ok(window(&rows)?)
    }

    async fn trim_group(&self, streams: &[Uuid], quota: u64, limits: EventLimits) -> Result<u64, Fault> {
        let (age, count) = (micros(limits.max_age), bigint(limits.max_per_stream));
        let session = self.session().await?;
        let (transaction, [locked]) = session.begin([(LOCK, &[&streams])]).await?;
        let ids = locked.iter().map(|row| row.value("id")).collect::<Result<Vec<Uuid>, Fault>>();
        let (transaction, ids) = transaction.decided(ids).await?;
        let [rows] = transaction.commit([(TRIM, &[&ids, &bigint(quota), &age, &count])]).await?;
        rows.first().map_or(Ok(0), |row| row.count("removed"))
    }
}

fn window(rows: &[Row]) -> Result<Window, Fault> {
    let mut spent = Vec::with_capacity(rows.len());
    for row in rows {
        if row.value("spent")? {
            spent.push(row.value("id")?);
        }
    }
    let last = rows.last().map(|row| row.value("id")).transpose()?;
    Ok(Window { spent, last })
}
