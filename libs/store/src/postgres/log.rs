//! The log in PostgreSQL: reading streams, and the epoch.
//!
//! Each answer is one statement and so of one database snapshot: a position and what lies before it can't disagree.

use async_trait::async_trait;
use domain::{Event, LogEpoch, Principal, RoomId, StreamRef, User, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::StoreError;
use crate::log::{Heads, Log, Page, Range, RoomSummary, Snapshot};
use crate::postgres::Postgres;
use crate::postgres::row::{self, Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;

statements! {
    SNAPSHOT = "log/snapshot";
    PAGE_AFTER = "log/page_after";
    PAGE_BEFORE = "log/page_before";
    SINCE = "log/since";
    HEADS = "log/heads";
    EPOCH = "log/epoch";
    ADOPT_EPOCH = "log/adopt_epoch";
    RENEW_EPOCH = "log/renew_epoch";
}

/// The first look of a node at the database begins one, so this is a fault.
const NO_EPOCH: &str = "the log has no epoch";

#[async_trait]
impl Log for Postgres {
    async fn snapshot(&self, user: UserId) -> Result<Option<Snapshot>, StoreError> {
        let rows = self.rows(SNAPSHOT, &[&user.0]).await?;
        Ok(snapshot(&rows)?)
    }

    async fn page(
        &self,
        reader: Principal,
        stream: StreamRef,
        range: Range,
        limit: u32,
    ) -> Result<Option<Page>, StoreError> {
        let (statement, seq) = match range {
            Range::After(seq) => (PAGE_AFTER, bigint(seq)),
            Range::Before(seq) => (PAGE_BEFORE, bigint(seq)),
        };
        let (kind, limit) = (stream.kind.as_str(), i64::from(limit));
        let rows =
            self.rows(statement, &[&reader.id(), &reader.kind(), &stream.id, &kind, &seq, &limit]).await?;
        Ok(page(&rows)?)
    }

    async fn events_since(&self, streams: &[(StreamRef, u64)], limit: u32) -> Result<Vec<Event>, StoreError> {
        if streams.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<Uuid> = streams.iter().map(|(stream, _)| stream.id).collect();
        let kinds: Vec<&str> = streams.iter().map(|(stream, _)| stream.kind.as_str()).collect();
        let seqs: Vec<i64> = streams.iter().map(|(_, seq)| bigint(*seq)).collect();
        let rows = self.rows(SINCE, &[&ids, &kinds, &seqs, &i64::from(limit)]).await?;
        Ok(rows.iter().map(row::event).collect::<Result<_, Fault>>()?)
    }

    async fn heads(&self, streams: &[Uuid]) -> Result<Heads, StoreError> {
        let rows = self.rows(HEADS, &[&streams]).await?;
        Ok(heads(&rows)?)
    }

    async fn log_epoch(&self) -> Result<LogEpoch, StoreError> {
        if let Some(row) = self.row(EPOCH, &[]).await?
            && row.value("at_home")?
        {
            return Ok(LogEpoch(row.value("log_epoch")?));
        }
        self.rows(ADOPT_EPOCH, &[&LogEpoch::new().0]).await?;
        // By a statement after the change: of two nodes that change it, both see what stands.
        self.present_epoch().await
    }

    async fn renew_log_epoch(&self, expected: LogEpoch) -> Result<LogEpoch, StoreError> {
        self.rows(RENEW_EPOCH, &[&LogEpoch::new().0, &expected.0]).await?;
        self.present_epoch().await
    }
}

impl Postgres {
    /// The epoch that is noted, whether it was begun in this database or the one that this is a copy of.
    ///
    /// # Errors
    ///
    /// The database does not answer, or was never migrated.
    pub async fn present_epoch(&self) -> Result<LogEpoch, StoreError> {
        let row = self.row(EPOCH, &[]).await?.ok_or_else(|| Fault::internal(NO_EPOCH))?;
        Ok(LogEpoch(row.value("log_epoch")?))
    }
}

fn snapshot(rows: &[Row]) -> Result<Option<Snapshot>, Fault> {
    let Some(first) = rows.first() else { return Ok(None) };
    let mut rooms = Vec::with_capacity(rows.len());
    for row in rows {
        let Some(id) = row.value::<Option<Uuid>>("room_id")? else { continue };
        rooms.push(RoomSummary {
            id: RoomId(id),
            kind: row.named("room_kind")?,
            name: row.value("name")?,
            head: row.count("head")?,
            floor: row.count("floor")?,
            last_read: row.count("last_read")?,
            muted: row.value("muted")?,
        });
    }
    Ok(Some(Snapshot {
        log_epoch: LogEpoch(first.value("log_epoch")?),
        user: User {
            id: UserId(first.value("id")?),
            handle: first.value("handle")?,
            display_name: first.value("display_name")?,
            role: first.named("role")?,
        },
        inbox: (first.count("inbox_head")?, first.count("inbox_floor")?),
        rooms,
    }))
}

fn page(rows: &[Row]) -> Result<Option<Page>, Fault> {
    let Some(first) = rows.first() else { return Ok(None) };
    let mut events = Vec::with_capacity(rows.len());
    for row in rows {
        if row.value::<Option<i64>>("seq")?.is_some() {
            events.push(row::event(row)?);
        }
    }
    Ok(Some(Page { events, floor: first.count("floor")?, head: first.count("head")? }))
}

fn heads(rows: &[Row]) -> Result<Heads, Fault> {
    let first = rows.first().ok_or_else(|| Fault::internal(NO_EPOCH))?;
    let mut heads = Vec::with_capacity(rows.len());
    for row in rows {
        if let Some(id) = row.value::<Option<Uuid>>("id")? {
            heads.push((id, row.count("head")?));
        }
    }
    Ok(Heads { log_epoch: LogEpoch(first.value("log_epoch")?), heads })
}
