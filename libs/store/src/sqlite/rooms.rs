//! Rooms in SQLite. `create`, `members` and `view` hold the longer ones.

use async_trait::async_trait;
use domain::{Event, EventKind, Principal, RoomId, UserId};
use serde_json::json;
use uuid::Uuid;

use super::Sqlite;
use super::append::{append_all, append_one};
use super::fault::Fault;
use super::notifications::read_up_to;
use super::row::{self, Columns};
use super::statement::statements;
use super::transaction::Tx;
use super::value::array;
use crate::error::{Refusal, StoreError};
use crate::log::draft::Draft;
use crate::number::bigint;
use crate::rooms::rules::{Actor, NO_ROOM, Plan};
use crate::rooms::{NewRoom, RoomCreated, RoomSettings, RoomView, Rooms, pair};

mod create;
mod members;
mod view;

statements! {
    ACTOR = "rooms/actor";
    CANDIDATES = "rooms/candidates";
    PAIR = "rooms/pair";
    RECALL = "rooms/recall";
    REMEMBER = "rooms/remember";
    CREATE_STREAM = "rooms/create_stream";
    CREATE = "rooms/create";
    JOIN = "rooms/join";
    LEAVER = "rooms/leaver";
    LEAVE = "rooms/leave";
    PROMOTE = "rooms/promote";
    POSITION = "rooms/position";
    READ = "rooms/read";
    MUTE = "rooms/mute";
    RENAME = "rooms/rename";
    VIEW = "rooms/view";
    LIST = "rooms/list";
    MEMBERS = "rooms/members";
    MEMBERS_BY_HANDLE = "rooms/members_by_handle";
}

#[async_trait]
impl Rooms for Sqlite {
    async fn create_room(&self, room: &NewRoom) -> Result<RoomCreated, StoreError> {
        Plan::new(room)?;
        let room = room.clone();
        self.write(move |tx| create::create(tx, &Plan::new(&room)?)).await
    }

    async fn room(&self, reader: Principal, room: RoomId) -> Result<Option<RoomView>, StoreError> {
        self.read(move |tx| view::one(tx, reader, room)).await
    }

    async fn dm_pair(&self, room: RoomId) -> Result<Option<Option<[UserId; 2]>>, StoreError> {
        let pair =
            self.read(move |tx| tx.row(PAIR, &[&room.0], |row| row.value::<Option<String>>("dm_pair")));
        pair.await?.map(|pair| pair.as_deref().map(pair::read).transpose()).transpose()
    }

    async fn rooms(
        &self,
        reader: Principal,
        after: Option<RoomId>,
        limit: u32,
    ) -> Result<Vec<RoomView>, StoreError> {
        self.read(move |tx| view::list(tx, reader, after, limit)).await
    }

    async fn add_members(
        &self,
        actor: UserId,
        room: RoomId,
        members: &[Principal],
    ) -> Result<Vec<Event>, StoreError> {
        let members = members.to_vec();
        self.write(move |tx| members::add(tx, actor, room, &members)).await
    }

    async fn remove_member(
        &self,
        actor: UserId,
        room: RoomId,
        member: Principal,
    ) -> Result<Vec<Event>, StoreError> {
        self.write(move |tx| members::remove(tx, actor, room, member)).await
    }

    async fn set_read(&self, user: UserId, room: RoomId, seq: u64) -> Result<(u64, Vec<Event>), StoreError> {
        self.write(move |tx| set_read(tx, user, room, seq)).await
    }

    async fn set_room_settings(
        &self,
        user: UserId,
        room: RoomId,
        settings: &RoomSettings,
    ) -> Result<Option<Event>, StoreError> {
        let RoomSettings { muted, name } = settings.clone();
        self.write(move |tx| match &name {
            Some(name) => rename(tx, user, room, name, muted),
            None if tx.execute(MUTE, &[&room.0, &user.0, &muted])? == 0 => Err(NO_ROOM.into()),
            None => Ok(None),
        })
        .await
    }

    async fn members_by_handle(
        &self,
        room: RoomId,
        handles: &[String],
    ) -> Result<Vec<Principal>, StoreError> {
        let handles = handles.to_vec();
        self.read(move |tx| {
            tx.rows(MEMBERS_BY_HANDLE, &[&room.0, &array(handles)], |row| row::principal(row, "kind", "id"))
        })
        .await
    }
}

/// Who wants to change a room, and the room with its head.
fn actor(tx: &Tx<'_>, room: RoomId, user: UserId) -> Result<(Actor, u64), Fault> {
    let read = |row: &rusqlite::Row<'_>| {
        let actor = Actor { role: row.named("role")?, kind: row.named("kind")?, name: row.value("name")? };
        Ok((actor, row.count("head")?))
    };
    tx.row(ACTOR, &[&room.0, &user.0], read)?.ok_or_else(|| NO_ROOM.into())
}

fn set_read(tx: &Tx<'_>, user: UserId, room: RoomId, seq: u64) -> Result<(u64, Vec<Event>), Fault> {
    let position =
        tx.row(POSITION, &[&room.0, &user.0], |row| Ok((row.count("last_read")?, row.count("head")?)))?;
    let (last_read, head) = position.ok_or(NO_ROOM)?;
    if seq > head {
        return Err(Refusal::Invalid("seq", "0 to the seq of the newest event").into());
    }
    if seq <= last_read {
        return Ok((last_read, Vec::new()));
    }
    tx.execute(READ, &[&room.0, &user.0, &bigint(seq)])?;
    let data = json!({ "room_id": room, "seq": seq });
    let mut drafts = vec![Draft::of_user(user, user, EventKind::ReadMoved, &data)];
    drafts.extend(read_up_to(tx, user, room, seq)?);
    Ok((seq, append_all(tx, &drafts)?))
}

fn rename(
    tx: &Tx<'_>,
    user: UserId,
    room: RoomId,
    name: &str,
    muted: Option<bool>,
) -> Result<Option<Event>, Fault> {
    let (actor, _) = actor(tx, room, user)?;
    let actor = actor.in_group("a dm has no name")?.owning()?;
    tx.execute(MUTE, &[&room.0, &user.0, &muted])?;
    let Some(draft) = actor.renames(user, room, name) else { return Ok(None) };
    tx.execute(RENAME, &[&room.0, &name])?;
    append_one(tx, &draft).map(Some)
}

/// A person or an agent who may be about to join.
struct Candidate {
    who: Principal,
    /// Not disabled, nor revoked.
    enabled: bool,
    /// In the room already.
    present: bool,
}

/// Of these people and agents those who are there.
fn candidates(tx: &Tx<'_>, room: RoomId, asked: &[Principal]) -> Result<Vec<Candidate>, Fault> {
    let ids: Vec<Uuid> = asked.iter().map(|member| member.id()).collect();
    let mut found = tx.rows(CANDIDATES, &[&array(ids), &room.0], |row| {
        Ok(Candidate {
            who: row::principal(row, "kind", "id")?,
            enabled: row.value("enabled")?,
            present: row.value("present")?,
        })
    })?;
    // Whoever is asked for as what they are not is not there.
    found.retain(|candidate| asked.contains(&candidate.who));
    Ok(found)
}
