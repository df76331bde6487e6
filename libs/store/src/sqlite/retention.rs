//! Retention of the log in SQLite: removing the oldest events, the floor moved in the same commit.
//!
//! Streams are looked at in windows, by id, by a reader. Those that hold too much are trimmed a few at a time in short transactions:
//! whoever writes waits for one of them at most.

use std::time::Duration;

use async_trait::async_trait;
use domain::TaskId;
use uuid::Uuid;

use super::Sqlite;
use super::fault::Fault;
use super::notifications::TRIM as TRIM_NOTIFICATIONS;
use super::row::Columns;
use super::statement::statements;
use super::transaction::Tx;
use super::value::NEVER;
use crate::error::StoreError;
use crate::number::bigint;
use crate::retention::{EventLimits, Reaped, Retention, TaskRunLimits, TrimmedTaskRuns};

statements! {
    WINDOW = "retention/window";
    POSITION = "retention/position";
    YOUNG = "retention/young";
    TRIM = "retention/trim";
    RAISE = "retention/raise";
}

/// Streams looked at at once: some ten milliseconds.
const LOOKED_AT: i64 = 5_000;
/// Streams trimmed in one transaction.
const TOGETHER: usize = 16;
/// Events removed in one transaction: whoever writes waits that long, some milliseconds.
const AT_ONCE: u64 = 500;

#[async_trait]
impl Retention for Sqlite {
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
        let gone = self.write(move |tx| tx.execute(TRIM_NOTIFICATIONS, &[&tx.before(max_age), &batch]));
        Ok(gone.await? as u64)
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

/// A window of streams, looked at.
struct Window {
    spent: Vec<Uuid>,
    /// The last stream of the window; none when there was no stream left to look at.
    last: Option<Uuid>,
}

impl Sqlite {
    /// Removes at most `batch` events beyond the limits; answers how many.
    async fn trim(&self, limits: EventLimits, batch: u32) -> Result<u64, StoreError> {
        let most = u64::from(batch);
        let mut removed = 0;
        if limits.max_age.is_zero() && limits.max_per_stream == 0 {
            return Ok(0);
        }
        let mut after = Some(Uuid::nil());
        while let Some(begin) = after {
            let window = self.read(move |tx| window(tx, begin, limits)).await?;
            for group in window.spent.chunks(TOGETHER) {
                loop {
                    let quota = AT_ONCE.min(most - removed);
                    if quota == 0 {
                        return Ok(removed);
                    }
                    let group = group.to_vec();
                    let gone = self.write(move |tx| trim_group(tx, &group, quota, limits)).await?;
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
}

fn window(tx: &Tx<'_>, after: Uuid, limits: EventLimits) -> Result<Window, Fault> {
    let most = if limits.max_per_stream == 0 { i64::MAX } else { bigint(limits.max_per_stream) };
    let streams = tx.rows(WINDOW, &[&after, &LOOKED_AT, &too_old(tx, limits), &most], |row| {
        Ok((row.value::<Uuid>("id")?, row.value::<bool>("spent")?))
    })?;
    Ok(Window {
        last: streams.last().map(|(id, _)| *id),
        spent: streams.into_iter().filter(|(_, spent)| *spent).map(|(id, _)| id).collect(),
    })
}

/// The time before which events are too old.
fn too_old(tx: &Tx<'_>, limits: EventLimits) -> i64 {
    if limits.max_age.is_zero() { NEVER } else { tx.before(limits.max_age) }
}

/// Removes at most so many events of these streams.
fn trim_group(tx: &Tx<'_>, streams: &[Uuid], quota: u64, limits: EventLimits) -> Result<u64, Fault> {
    let mut gone = 0;
    for stream in streams {
        gone += trim_stream(tx, *stream, quota - gone, limits)?;
        if gone == quota {
            break;
        }
    }
    Ok(gone)
}

/// Removes the oldest events of a stream, at most so many, and moves its floor to the newest of them.
fn trim_stream(tx: &Tx<'_>, stream: Uuid, quota: u64, limits: EventLimits) -> Result<u64, Fault> {
    let position = tx.row(POSITION, &[&stream], |row| Ok((row.count("floor")?, row.count("head")?)))?;
    let Some((floor, head)) = position else { return Ok(0) };
    let too_many = match limits.max_per_stream {
        0 => 0,
        most => head.saturating_sub(most),
    };
    let last = too_many.max(last_too_old(tx, stream, floor, quota, limits)?).min(floor + quota).min(head);
    if last <= floor {
        return Ok(0);
    }
    let gone = tx.execute(TRIM, &[&stream, &bigint(last)])?;
    tx.execute(RAISE, &[&stream, &bigint(last)])?;
    Ok(gone as u64)
}

/// Of the next events of a stream, as many as may go now, the last before the first that is young enough.
fn last_too_old(
    tx: &Tx<'_>,
    stream: Uuid,
    floor: u64,
    quota: u64,
    limits: EventLimits,
) -> Result<u64, Fault> {
    if limits.max_age.is_zero() {
        return Ok(0);
    }
    let params: [&dyn rusqlite::ToSql; 4] = [&stream, &bigint(floor), &bigint(quota), &too_old(tx, limits)];
    let young = tx.row(YOUNG, &params, |row| row.count("seq"))?;
    Ok(young.map_or(floor + quota, |seq| seq - 1))
}
