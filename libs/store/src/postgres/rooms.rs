//! Rooms in PostgreSQL.
//!
//! Whoever changes who is in a room holds the lock of the room's stream, and of the inbox of everybody it concerns,
//! taken at once in the order of the ids. So what a transaction finds after the lock (roles, members, heads) stands until it
//! commits, and each member's events say the same as the rows.
//!
//! `create`, `members` and `view` hold the longer ones.

use async_trait::async_trait;
use domain::{Event, EventKind, Principal, RoomId, UserId};
use serde_json::json;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::{Refusal, StoreError};
use crate::postgres::append::{self, Append, Draft};
use crate::postgres::row::{self, Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::{Postgres, repeated};
use crate::rooms::rules::{Actor, NO_ROOM, Plan};
use crate::rooms::{NewRoom, RoomCreated, RoomSettings, RoomView, Rooms, pair};

mod create;
mod members;
mod view;

statements! {
    ACTOR = "rooms/actor";
    ENABLED = "rooms/enabled";
    PAIR = "rooms/pair";
    RECALL = "rooms/recall";
    REMEMBER = "rooms/remember";
    CREATE = "rooms/create";
    JOIN = "rooms/join";
    NEWCOMERS = "rooms/newcomers";
    LEAVER = "rooms/leaver";
    LEAVE = "rooms/leave";
    PROMOTE = "rooms/promote";
    READ = "rooms/read";
    MUTE = "rooms/mute";
    RENAME = "rooms/rename";
    VIEW = "rooms/view";
    LIST = "rooms/list";
    MEMBERS_BY_HANDLE = "rooms/members_by_handle";
}

#[async_trait]
impl Rooms for Postgres {
    async fn create_room(&self, room: &NewRoom) -> Result<RoomCreated, StoreError> {
        let plan = Plan::new(room)?;
        repeated!(self.try_create_room(&plan))
    }

    async fn room(&self, reader: Principal, room: RoomId) -> Result<Option<RoomView>, StoreError> {
        let row = self.row(VIEW, &[&room.0, &reader.id(), &reader.kind()]).await?;
        Ok(row.as_ref().map(view::read).transpose()?)
    }

    async fn dm_pair(&self, room: RoomId) -> Result<Option<Option<[UserId; 2]>>, StoreError> {
        let row = self.row(PAIR, &[&room.0]).await?;
        let pair = |row: &Row| -> Result<_, Fault> {
            Ok(row.value::<Option<&str>>("dm_pair")?.map(pair::read).transpose()?)
        };
        Ok(row.as_ref().map(pair).transpose()?)
    }

    async fn rooms(
        &self,
        reader: Principal,
        after: Option<RoomId>,
        limit: u32,
    ) -> Result<Vec<RoomView>, StoreError> {
        let after = after.map(Uuid::from);
        let rows = self.rows(LIST, &[&reader.id(), &reader.kind(), &after, &i64::from(limit)]).await?;
        Ok(rows.iter().map(view::read).collect::<Result<_, Fault>>()?)
    }

    async fn add_members(
        &self,
        actor: UserId,
        room: RoomId,
        members: &[Principal],
    ) -> Result<Vec<Event>, StoreError> {
        repeated!(self.try_add_members(actor, room, members))
    }

    async fn remove_member(
        &self,
        actor: UserId,
        room: RoomId,
        member: Principal,
    ) -> Result<Vec<Event>, StoreError> {
        repeated!(self.try_remove_member(actor, room, member))
    }

    async fn set_read(&self, user: UserId, room: RoomId, seq: u64) -> Result<(u64, Vec<Event>), StoreError> {
        repeated!(self.try_set_read(user, room, seq))
    }

    async fn set_room_settings(
        &self,
        user: UserId,
        room: RoomId,
        settings: &RoomSettings,
    ) -> Result<Option<Event>, StoreError> {
        if let Some(name) = &settings.name {
            return repeated!(self.try_rename(user, room, name, settings.muted));
        }
        let row = self.row(MUTE, &[&room.0, &user.0, &settings.muted]).await?;
        row.map(|_| None).ok_or_else(|| NO_ROOM.into())
    }

    async fn members_by_handle(
        &self,
        room: RoomId,
        handles: &[String],
    ) -> Result<Vec<Principal>, StoreError> {
        let rows = self.rows(MEMBERS_BY_HANDLE, &[&room.0, &handles]).await?;
        Ok(rows.iter().map(|row| row::principal(row, "kind", "id")).collect::<Result<_, Fault>>()?)
    }
}

/// Who wants to change a room, and the room, read under its lock.
fn actor(rows: &[Row]) -> Result<Actor, Fault> {
    let row = rows.first().ok_or(NO_ROOM)?;
    Ok(Actor { role: row.named("role")?, kind: row.named("kind")?, name: row.value("name")? })
}

/// What moving the read mark came to.
struct ReadMark {
    last_read: u64,
    moved: bool,
}

impl ReadMark {
    fn read(rows: &[Row], seq: u64) -> Result<Self, Fault> {
        let row = rows.first().ok_or(NO_ROOM)?;
        if seq > row.count("head")? {
            return Err(Refusal::Invalid("seq", "0 to the seq of the newest event").into());
        }
        Ok(Self { last_read: row.count("last_read")?, moved: row.value("moved")? })
    }
}

impl Postgres {
    async fn try_set_read(&self, user: UserId, room: RoomId, seq: u64) -> Result<(u64, Vec<Event>), Fault> {
        let session = self.session().await?;
        let (transaction, [_, mark]) = session
            .begin([(append::LOCK, &[&[user.0].as_slice()]), (READ, &[&room.0, &user.0, &bigint(seq)])])
            .await?;
        let (transaction, mark) = transaction.decided(ReadMark::read(&mark, seq)).await?;
        if !mark.moved {
            transaction.rollback().await;
            return Ok((mark.last_read, Vec::new()));
        }
        let data = json!({ "room_id": room, "seq": seq });
        let mut drafts = vec![Draft::of_user(user, user, EventKind::ReadMoved, &data)];
        let cleared = transaction.read_up_to(user, room, bigint(seq)).await;
        let (transaction, cleared) = transaction.decided(cleared).await?;
        drafts.extend(cleared);
        Ok((seq, transaction.append_all(&drafts).await?))
    }

    async fn try_rename(
        &self,
        user: UserId,
        room: RoomId,
        name: &str,
        muted: Option<bool>,
    ) -> Result<Option<Event>, Fault> {
        let session = self.session().await?;
        let (transaction, [_, actor]) =
            session.begin([(append::LOCK, &[&[room.0].as_slice()]), (ACTOR, &[&room.0, &user.0])]).await?;
        let renaming =
            self::actor(&actor).and_then(|actor| Ok(actor.in_group("a dm has no name")?.owning()?));
        let (transaction, actor) = transaction.decided(renaming).await?;
        let drafts = Vec::from_iter(actor.renames(user, room, name));
        let append = Append::new(&drafts);
        let [_, _, rows] = transaction
            .commit([
                (MUTE, &[&room.0, &user.0, &muted]),
                (RENAME, &[&room.0, &name]),
                (append::APPEND, &append.params()),
            ])
            .await?;
        Ok(append.events(&rows)?.pop())
    }
}

/// Members as parameters: their ids, and what each is.
fn ids_and_kinds(members: impl IntoIterator<Item = Principal>) -> (Vec<Uuid>, Vec<&'static str>) {
    members.into_iter().map(|member| (member.id(), member.kind())).unzip()
}

/// Ids of streams to be locked together.
fn streams(room: Option<RoomId>, members: &[Principal]) -> Vec<Uuid> {
    let mut streams: Vec<Uuid> =
        members.iter().map(|member| member.id()).chain(room.map(Uuid::from)).collect();
    streams.sort_unstable();
    streams.dedup();
    streams
}
