//! The log in SQLite: reading streams, and the epoch.
//!
//! Each answer is one transaction and so of one snapshot: a position and what lies before it can't disagree.

use async_trait::async_trait;
use domain::{Event, LogEpoch, Principal, RoomId, StreamRef, User, UserId};
use rusqlite::Row;
use uuid::Uuid;

use super::Sqlite;
use super::fault::Fault;
use super::row::{self, Columns};
use super::statement::statements;
use super::transaction::Tx;
use super::value::array;
use crate::error::StoreError;
use crate::log::{Heads, Log, Page, Range, RoomSummary, Snapshot};
use crate::number::bigint;

statements! {
    PERSON = "log/person";
    ROOMS = "log/rooms";
    READABLE = "log/readable";
    AFTER = "log/after";
    BEFORE = "log/before";
    HEADS = "log/heads";
    EPOCH = "log/epoch";
    RENEW_EPOCH = "log/renew_epoch";
}

#[async_trait]
impl Log for Sqlite {
    async fn snapshot(&self, user: UserId) -> Result<Option<Snapshot>, StoreError> {
        self.read(move |tx| {
            let Some((user, inbox)) = tx.row(PERSON, &[&user.0], person)? else { return Ok(None) };
            let rooms = rooms(tx, user.id.into())?;
            Ok(Some(Snapshot { log_epoch: epoch(tx)?, user, inbox, rooms }))
        })
        .await
    }

    async fn page(
        &self,
        reader: Principal,
        stream: StreamRef,
        range: Range,
        limit: u32,
    ) -> Result<Option<Page>, StoreError> {
        self.read(move |tx| {
            let kind = stream.kind.as_str();
            let readable = tx.row(READABLE, &[&reader.id(), &reader.kind(), &stream.id, &kind], |row| {
                Ok((row.count("floor")?, row.count("head")?))
            })?;
            let Some((floor, head)) = readable else { return Ok(None) };
            let events = match range {
                Range::After(seq) => {
                    tx.rows(AFTER, &[&stream.id, &kind, &bigint(seq), &limit], row::event)?
                }
                Range::Before(seq) => {
                    let mut newest =
                        tx.rows(BEFORE, &[&stream.id, &kind, &bigint(seq), &limit], row::event)?;
                    newest.reverse();
                    newest
                }
            };
            Ok(Some(Page { events, floor, head }))
        })
        .await
    }

    async fn events_since(&self, streams: &[(StreamRef, u64)], limit: u32) -> Result<Vec<Event>, StoreError> {
        if streams.is_empty() {
            return Ok(Vec::new());
        }
        let streams = streams.to_vec();
        self.read(move |tx| {
            let mut events = Vec::new();
            for (stream, seq) in &streams {
                let params: [&dyn rusqlite::ToSql; 4] =
                    [&stream.id, &stream.kind.as_str(), &bigint(*seq), &limit];
                events.extend(tx.rows(AFTER, &params, row::event)?);
            }
            Ok(events)
        })
        .await
    }

    async fn heads(&self, streams: &[Uuid]) -> Result<Heads, StoreError> {
        let streams = streams.to_vec();
        self.read(move |tx| {
            let heads =
                tx.rows(HEADS, &[&array(streams)], |row| Ok((row.value("id")?, row.count("head")?)))?;
            Ok(Heads { log_epoch: epoch(tx)?, heads })
        })
        .await
    }

    async fn log_epoch(&self) -> Result<LogEpoch, StoreError> {
        self.read(epoch).await
    }

    async fn renew_log_epoch(&self, expected: LogEpoch) -> Result<LogEpoch, StoreError> {
        self.write(move |tx| {
            tx.execute(RENEW_EPOCH, &[&LogEpoch::new().0, &expected.0])?;
            epoch(tx)
        })
        .await
    }
}

/// The present epoch.
pub(super) fn epoch(tx: &Tx<'_>) -> Result<LogEpoch, Fault> {
    tx.row(EPOCH, &[], |row| row.value("log_epoch").map(LogEpoch))?
        .ok_or_else(|| Fault::internal("the log has no epoch"))
}

/// The rooms that a person or an agent is in, by id.
pub(super) fn rooms(tx: &Tx<'_>, member: Principal) -> Result<Vec<RoomSummary>, Fault> {
    tx.rows(ROOMS, &[&member.id(), &member.kind()], |row| {
        Ok(RoomSummary {
            id: RoomId(row.value("room_id")?),
            kind: row.named("kind")?,
            name: row.value("name")?,
            head: row.count("head")?,
            floor: row.count("floor")?,
            last_read: row.count("last_read")?,
            muted: row.value("muted")?,
        })
    })
}

fn person(row: &Row<'_>) -> Result<(User, (u64, u64)), Fault> {
    let user = User {
        id: UserId(row.value("id")?),
        handle: row.value("handle")?,
        display_name: row.value("display_name")?,
        role: row.named("role")?,
    };
    Ok((user, (row.count("head")?, row.count("floor")?)))
}
