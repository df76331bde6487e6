//! Presence in PostgreSQL.
//!
//! `write_presence`, `reap_presence` and `check_people` change rows in the same order: people are locked, rows are written and cleared, people are
//! judged. Each step is a statement of its own, so that it sees what was committed before the lock was had.

use std::time::Duration;

use async_trait::async_trait;
use domain::{ConnectionId, LivePresence, PersonStatus, RoomId, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::StoreError;
use crate::postgres::interval::micros;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::{Postgres, repeated};
use crate::presence::{
    CheckedPeople, Evidence, PersonPresence, Presence, PresenceBatch, PresenceRow, ReapedPresence, Seen,
};

statements! {
    WATCH = "presence/watch";
    REFRESH = "presence/refresh";
    ENSURE = "presence/ensure";
    LOCK = "presence/lock";
    LOCK_FREE = "presence/lock_free";
    WRITE = "presence/write";
    CLEAR = "presence/clear";
    JUDGE = "presence/judge";
    LIVE = "presence/live";
    EXPIRED = "presence/expired";
    DOUBTFUL = "presence/doubtful";
    NOTE = "presence/note";
    NOTED = "presence/noted";
    PEOPLE = "presence/people";
    AROUND = "presence/around";
    ROOMS = "presence/rooms";
}

#[async_trait]
impl Presence for Postgres {
    async fn watch_presence(&self, ttl: Duration) -> Result<(), StoreError> {
        self.rows(WATCH, &[&micros(ttl)]).await.map(drop)
    }

    async fn refresh_presence(&self, connections: &[ConnectionId]) -> Result<Vec<ConnectionId>, StoreError> {
        if connections.is_empty() {
            return Ok(Vec::new());
        }
        let mut asked: Vec<Uuid> = connections.iter().map(|connection| connection.0).collect();
        asked.sort_unstable();
        let rows = self.rows(REFRESH, &[&asked]).await?;
        let found = |row: &Row| row.value("connection_id").map(ConnectionId);
        Ok(rows.iter().map(found).collect::<Result<_, Fault>>()?)
    }

    async fn write_presence(
        &self,
        batch: &PresenceBatch,
        ttl: Duration,
    ) -> Result<Vec<PersonPresence>, StoreError> {
        let (columns, gone, people) = (Columned::of(&batch.rows), gone(batch), people(batch));
        if people.is_empty() {
            return Ok(Vec::new());
        }
        repeated!(async {
            let (node, ttl) = (batch.node.0, micros(ttl));
            let session = self.session().await?;
            let [.., changes] = session
                .transact([
                    (ENSURE, &[&people]),
                    (LOCK, &[&people]),
                    (
                        WRITE,
                        &[
                            &node,
                            &columns.connections,
                            &columns.people,
                            &columns.devices,
                            &columns.epochs,
                            &columns.kinds,
                            &columns.idle,
                            &columns.focus,
                            &columns.ages,
                            &columns.resumable,
                        ],
                    ),
                    (CLEAR, &[&people, &gone, &ttl]),
                    (JUDGE, &[&people, &ttl]),
                ])
                .await?;
            read_all(&changes)
        })
    }

    async fn live_people(&self, people: &[UserId], ttl: Duration) -> Result<Seen, StoreError> {
        let rows = self.rows(LIVE, &[&bare(people), &micros(ttl)]).await?;
        Ok(seen(&rows)?)
    }

    async fn reap_presence(&self, ttl: Duration, limit: u32) -> Result<ReapedPresence, StoreError> {
        let rows = self.rows(EXPIRED, &[&micros(ttl), &i64::from(limit)]).await?;
        let people: Vec<Uuid> = rows.iter().map(|row| row.value("user_id")).collect::<Result<_, Fault>>()?;
        let (rows, changes) = self.judge(&people, ttl).await?;
        Ok(ReapedPresence { rows, changes, more: rows > 0 && people.len() >= limit as usize })
    }

    async fn check_people(
        &self,
        after: Option<UserId>,
        limit: u32,
        ttl: Duration,
    ) -> Result<CheckedPeople, StoreError> {
        let after = after.map_or(Uuid::nil(), UserId::uuid);
        let page = self.rows(DOUBTFUL, &[&after, &i64::from(limit), &micros(ttl)]).await?;
        let mut people = Vec::new();
        for row in &page {
            if row.value("differs")? {
                people.push(row.value("user_id")?);
            }
        }
        let (_, changes) = self.judge(&people, ttl).await?;
        let full = page.len() >= limit as usize;
        let next = page.last().filter(|_| full).map(|row| row.value("user_id").map(UserId)).transpose()?;
        Ok(CheckedPeople { changes, people: page.len() as u64, next })
    }

    async fn note_people(
        &self,
        people: &[(UserId, PersonStatus)],
        evidence: Evidence,
    ) -> Result<Vec<PersonPresence>, StoreError> {
        if people.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<Uuid> = people.iter().map(|(user, _)| user.0).collect();
        let statuses: Vec<&str> = people.iter().map(|(_, status)| status.as_str()).collect();
        let rows = self.rows(NOTE, &[&ids, &statuses, &(evidence == Evidence::Whole)]).await?;
        Ok(read_all(&rows)?)
    }

    async fn people_noted(
        &self,
        after: Option<UserId>,
        limit: u32,
    ) -> Result<Vec<PersonPresence>, StoreError> {
        let after = after.map_or(Uuid::nil(), UserId::uuid);
        Ok(read_all(&self.rows(NOTED, &[&after, &i64::from(limit)]).await?)?)
    }

    async fn people_presence(&self, people: &[UserId]) -> Result<Vec<PersonPresence>, StoreError> {
        if people.is_empty() {
            return Ok(Vec::new());
        }
        Ok(read_all(&self.rows(PEOPLE, &[&bare(people)]).await?)?)
    }

    async fn people_around(&self, user: UserId, max_members: u32) -> Result<Vec<PersonPresence>, StoreError> {
        Ok(read_all(&self.rows(AROUND, &[&user.0, &i64::from(max_members)]).await?)?)
    }

    async fn rooms_of_people(
        &self,
        people: &[UserId],
        max_members: u32,
    ) -> Result<Vec<(UserId, RoomId)>, StoreError> {
        if people.is_empty() {
            return Ok(Vec::new());
        }
        let rows = self.rows(ROOMS, &[&bare(people), &i64::from(max_members)]).await?;
        let room = |row: &Row| Ok((UserId(row.value("user_id")?), RoomId(row.value("room_id")?)));
        Ok(rows.iter().map(room).collect::<Result<_, Fault>>()?)
    }
}

impl Postgres {
    /// Removes what is live no more of these people, but for those whom somebody else is at, and judges them. Answers how many rows went, and the
    /// changes.
    async fn judge(&self, people: &[Uuid], ttl: Duration) -> Result<(u64, Vec<PersonPresence>), StoreError> {
        if people.is_empty() {
            return Ok((0, Vec::new()));
        }
        repeated!(async {
            let (nobody, ttl): (&[Uuid], i64) = (&[], micros(ttl));
            let session = self.session().await?;
            let (transaction, [locked]) = session.begin([(LOCK_FREE, &[&people])]).await?;
            let locked: Result<Vec<Uuid>, Fault> = locked.iter().map(|row| row.value("user_id")).collect();
            let (transaction, locked) = transaction.decided(locked).await?;
            let [cleared, changes] =
                transaction.commit([(CLEAR, &[&locked, &nobody, &ttl]), (JUDGE, &[&locked, &ttl])]).await?;
            Ok((cleared.len() as u64, read_all(&changes)?))
        })
    }
}

/// Rows as columns.
#[derive(Default)]
struct Columned {
    connections: Vec<Uuid>,
    people: Vec<Uuid>,
    devices: Vec<Option<Uuid>>,
    epochs: Vec<Option<i64>>,
    kinds: Vec<&'static str>,
    idle: Vec<bool>,
    focus: Vec<Option<Uuid>>,
    ages: Vec<i64>,
    resumable: Vec<Option<i64>>,
}

impl Columned {
    fn of(rows: &[PresenceRow]) -> Self {
        let mut columns = Self::default();
        for row in rows {
            columns.connections.push(row.connection.0);
            columns.people.push(row.user.0);
            columns.devices.push(row.device.map(|(device, _)| device.0));
            columns.epochs.push(row.device.map(|(_, epoch)| bigint(epoch)));
            columns.kinds.push(row.kind.as_str());
            columns.idle.push(row.idle);
            columns.focus.push(row.focus.map(RoomId::uuid));
            columns.ages.push(micros(row.age));
            columns.resumable.push(row.resumable_for.map(micros));
        }
        columns
    }
}

fn bare(people: &[UserId]) -> Vec<Uuid> {
    people.iter().map(|user| user.0).collect()
}

fn gone(batch: &PresenceBatch) -> Vec<Uuid> {
    batch.gone.iter().map(|(connection, _)| connection.0).collect()
}

/// Everybody whom a batch concerns, once.
fn people(batch: &PresenceBatch) -> Vec<Uuid> {
    let gone = batch.gone.iter().map(|(_, user)| user.0);
    let mut people: Vec<Uuid> = batch.rows.iter().map(|row| row.user.0).chain(gone).collect();
    people.sort_unstable();
    people.dedup();
    people
}

fn read_all(rows: &[Row]) -> Result<Vec<PersonPresence>, Fault> {
    let read = |row: &Row| {
        Ok(PersonPresence {
            user: UserId(row.value("user_id")?),
            status: row.named("status")?,
            version: row.count("version")?,
        })
    };
    rows.iter().map(read).collect()
}

fn seen(rows: &[Row]) -> Result<Seen, Fault> {
    let mut seen = Seen::default();
    for row in rows {
        let settles_in = row.count("settles_in")?;
        seen.settles_in = (settles_in > 0).then(|| Duration::from_micros(settles_in));
        let Some(user) = row.value::<Option<Uuid>>("user_id")? else { continue };
        seen.people.entry(UserId(user)).or_default().push(LivePresence {
            connection: ConnectionId(row.value("connection_id")?),
            device: row.value::<Option<Uuid>>("device_id")?.map(Into::into),
            kind: row.named("device_kind")?,
            idle: row.value("idle")?,
            focus: row.value::<Option<Uuid>>("focused_room_id")?.map(Into::into),
        });
    }
    Ok(seen)
}
