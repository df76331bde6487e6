//! Presence in SQLite.
//!
//! `write_presence`, `reap_presence` and `check_people` change rows in the same order: rows are written and cleared, people are judged.

use std::time::Duration;

use async_trait::async_trait;
use domain::{ConnectionId, PersonStatus, RoomId, UserId};
use rusqlite::Row;
use uuid::Uuid;

use crate::error::StoreError;
use crate::presence::{
    CheckedPeople, Evidence, PersonPresence, Presence, PresenceBatch, ReapedPresence, Seen,
};
use crate::sqlite::Sqlite;
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::statement::statements;
use crate::sqlite::value::array;

mod judge;
mod write;

statements! {
    FORGET_WATCH = "presence/forget_watch";
    WATCH = "presence/watch";
    WATCHED = "presence/watched";
    REFRESH = "presence/refresh";
    ENSURE = "presence/ensure";
    WRITE = "presence/write";
    CLEAR = "presence/clear";
    LIVE = "presence/live";
    MOVE = "presence/move";
    EXPIRED = "presence/expired";
    KNOWN = "presence/known";
    NOTE = "presence/note";
    NOTED = "presence/noted";
    PEOPLE = "presence/people";
    AROUND = "presence/around";
    ROOMS = "presence/rooms";
}

#[async_trait]
impl Presence for Sqlite {
    async fn watch_presence(&self, ttl: Duration) -> Result<(), StoreError> {
        self.write(move |tx| {
            tx.execute(WATCH, &[&tx.micros(), &tx.before(ttl / 2), &tx.before(ttl / 10)]).map(drop)
        })
        .await
    }

    async fn refresh_presence(&self, connections: &[ConnectionId]) -> Result<Vec<ConnectionId>, StoreError> {
        if connections.is_empty() {
            return Ok(Vec::new());
        }
        let asked = connections.to_vec();
        self.write(move |tx| {
            let asked = array(asked.iter().map(|connection| connection.0));
            tx.rows(REFRESH, &[&asked, &tx.micros()], |row| row.value("connection_id").map(ConnectionId))
        })
        .await
    }

    async fn write_presence(
        &self,
        batch: &PresenceBatch,
        ttl: Duration,
    ) -> Result<Vec<PersonPresence>, StoreError> {
        let people = write::people(batch);
        if people.is_empty() {
            return Ok(Vec::new());
        }
        let batch = batch.clone();
        self.write(move |tx| {
            tx.execute(ENSURE, &[&bare(&people)])?;
            write::write(tx, &batch)?;
            let gone: Vec<ConnectionId> = batch.gone.iter().map(|(connection, _)| *connection).collect();
            judge::clear(tx, &people, &gone, ttl)?;
            judge::judge(tx, &people, ttl)
        })
        .await
    }

    async fn live_people(&self, people: &[UserId], ttl: Duration) -> Result<Seen, StoreError> {
        let people = people.to_vec();
        self.read(move |tx| {
            Ok(Seen { people: judge::live(tx, &people, ttl)?, settles_in: judge::settles_in(tx, ttl)? })
        })
        .await
    }

    async fn reap_presence(&self, ttl: Duration, limit: u32) -> Result<ReapedPresence, StoreError> {
        self.write(move |tx| {
            let people: Vec<UserId> = tx.rows(EXPIRED, &[&tx.before(ttl), &tx.micros(), &limit], user)?;
            let rows = judge::clear(tx, &people, &[], ttl)?;
            let changes = judge::judge(tx, &people, ttl)?;
            Ok(ReapedPresence { rows, changes, more: rows > 0 && people.len() >= limit as usize })
        })
        .await
    }

    async fn check_people(
        &self,
        after: Option<UserId>,
        limit: u32,
        ttl: Duration,
    ) -> Result<CheckedPeople, StoreError> {
        let after = after.map_or(Uuid::nil(), UserId::uuid);
        self.write(move |tx| {
            if judge::settles_in(tx, ttl)?.is_some() {
                return Ok(CheckedPeople::default());
            }
            let page: Vec<UserId> = tx.rows(KNOWN, &[&after, &limit], user)?;
            let doubtful = judge::differing(tx, &page, ttl)?;
            judge::clear(tx, &doubtful, &[], ttl)?;
            let changes = judge::judge(tx, &doubtful, ttl)?;
            let next = page.last().copied().filter(|_| page.len() >= limit as usize);
            Ok(CheckedPeople { changes, people: page.len() as u64, next })
        })
        .await
    }

    async fn note_people(
        &self,
        people: &[(UserId, PersonStatus)],
        evidence: Evidence,
    ) -> Result<Vec<PersonPresence>, StoreError> {
        if people.is_empty() {
            return Ok(Vec::new());
        }
        let (people, is_whole) = (people.to_vec(), evidence == Evidence::Whole);
        self.write(move |tx| {
            let mut changes = Vec::new();
            for (user, status) in people {
                changes.extend(tx.row(NOTE, &[&user.0, &status.as_str(), &is_whole], person)?);
            }
            Ok(changes)
        })
        .await
    }

    async fn people_noted(
        &self,
        after: Option<UserId>,
        limit: u32,
    ) -> Result<Vec<PersonPresence>, StoreError> {
        let after = after.map_or(Uuid::nil(), UserId::uuid);
        self.read(move |tx| tx.rows(NOTED, &[&after, &limit], person)).await
    }

    async fn people_presence(&self, people: &[UserId]) -> Result<Vec<PersonPresence>, StoreError> {
        if people.is_empty() {
            return Ok(Vec::new());
        }
        let people = people.to_vec();
        let noted = self.read(move |tx| tx.rows(PEOPLE, &[&bare(&people)], person)).await?;
        // At version 0 nothing is.
        Ok(noted.into_iter().filter(|noted| noted.version > 0).collect())
    }

    async fn people_around(&self, user: UserId, max_members: u32) -> Result<Vec<PersonPresence>, StoreError> {
        self.read(move |tx| tx.rows(AROUND, &[&user.0, &max_members], person)).await
    }

    async fn rooms_of_people(
        &self,
        people: &[UserId],
        max_members: u32,
    ) -> Result<Vec<(UserId, RoomId)>, StoreError> {
        if people.is_empty() {
            return Ok(Vec::new());
        }
        let people = people.to_vec();
        self.read(move |tx| {
            tx.rows(ROOMS, &[&bare(&people), &max_members], |row| {
                Ok((user(row)?, RoomId(row.value("room_id")?)))
            })
        })
        .await
    }
}

/// Who looked after the rows was another process, and whatever it knew is older than this one: the table is to be settled anew.
pub(super) fn forget_watch(connection: &rusqlite::Connection) -> Result<(), StoreError> {
    connection
        .execute(FORGET_WATCH.sql, [])
        .map(drop)
        .map_err(|error| super::fault::sqlite_error(FORGET_WATCH.name, &error))
}

fn bare(people: &[UserId]) -> rusqlite::vtab::array::Array {
    array(people.iter().map(|user| user.0))
}

fn user(row: &Row<'_>) -> Result<UserId, Fault> {
    row.value("user_id").map(UserId)
}

fn person(row: &Row<'_>) -> Result<PersonPresence, Fault> {
    Ok(PersonPresence { user: user(row)?, status: row.named("status")?, version: row.count("version")? })
}
