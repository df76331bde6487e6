//! Notifications in SQLite.
//!
//! They are made in the transaction that writes what they are about ([`notice`]), and marked as read in one of their own, so no mark falls
//! between.

use async_trait::async_trait;
use domain::notification::{Facts, Preferences};
use domain::{DeviceId, Event, EventKind, NodeId, NotificationId, RoomId, Sender, UserId};
use rusqlite::Row;
use serde_json::json;
use uuid::Uuid;

use crate::error::StoreError;
use crate::log::draft::Draft;
use crate::notifications::{Notification, Notifications, ReadWhat, Step, Unread};
use crate::number::bigint;
use crate::sqlite::Sqlite;
use crate::sqlite::append::append_one;
use crate::sqlite::fault::Fault;
use crate::sqlite::row::{self, Columns};
use crate::sqlite::statement::statements;
use crate::sqlite::transaction::Tx;
use crate::sqlite::value::array;

pub(super) mod notice;

statements! {
    WITHDRAW = "notifications/withdraw";
    READ_ROOM = "notifications/read_room";
    READ_NAMED = "notifications/read_named";
    READ = "notifications/read";
    UNREAD = "notifications/unread";
    LIST = "notifications/list";
    FIND = "notifications/find";
    STEPS = "notifications/steps";
    PREFERENCES = "notifications/preferences";
    PREFER = "notifications/prefer";
    TRIM = "notifications/trim";
}

#[async_trait]
impl Notifications for Sqlite {
    async fn notifications(
        &self,
        user: UserId,
        before: Option<NotificationId>,
        unread_only: bool,
        limit: u32,
    ) -> Result<Vec<Notification>, StoreError> {
        // No id is after this one.
        let before = before.map_or(Uuid::max(), Uuid::from);
        self.read(move |tx| tx.rows(LIST, &[&user.0, &before, &unread_only, &limit], notification)).await
    }

    async fn unread(&self, user: UserId) -> Result<Unread, StoreError> {
        self.read(move |tx| unread(tx, user)).await
    }

    async fn read_notifications(&self, user: UserId, what: &ReadWhat) -> Result<Option<Event>, StoreError> {
        let what = what.clone();
        self.write(move |tx| read(tx, user, &what)).await
    }

    async fn notification_trace(
        &self,
        user: UserId,
        notification: NotificationId,
    ) -> Result<Option<(Notification, Vec<Step>)>, StoreError> {
        self.read(move |tx| {
            let Some(found) = tx.row(FIND, &[&user.0, &notification.0], self::notification)? else {
                return Ok(None);
            };
            Ok(Some((found, tx.rows(STEPS, &[&notification.0], step)?)))
        })
        .await
    }

    async fn preferences(&self, user: UserId) -> Result<Preferences, StoreError> {
        self.read(move |tx| preferences(tx, user)).await
    }

    async fn set_preferences(&self, user: UserId, preferences: &Preferences) -> Result<(), StoreError> {
        let text = serde_json::to_string(preferences)
            .map_err(|error| StoreError::Internal(format!("preferences that are no JSON: {error}")))?;
        self.write(move |tx| tx.execute(PREFER, &[&user.0, &text]).map(drop)).await
    }
}

/// What notifications are about is gone: messages, runs or tool calls.
pub(super) fn withdraw(tx: &Tx<'_>, sources: &[Uuid]) -> Result<(), Fault> {
    if sources.is_empty() {
        return Ok(());
    }
    tx.execute(WITHDRAW, &[&array(sources.iter().copied()), &tx.micros()]).map(drop)
}

/// A person has read a room up to a seq: `notification.read`, to be written, if that cleared any.
pub(super) fn read_up_to(tx: &Tx<'_>, user: UserId, room: RoomId, seq: u64) -> Result<Option<Draft>, Fault> {
    if tx.execute(READ_ROOM, &[&user.0, &room.0, &bigint(seq), &tx.micros()])? == 0 {
        return Ok(None);
    }
    let data = json!({ "room_id": room, "seq": seq, "unread": unread(tx, user)?.total });
    Ok(Some(Draft::of_user(user, user, EventKind::NotificationRead, &data)))
}

fn read(tx: &Tx<'_>, user: UserId, what: &ReadWhat) -> Result<Option<Event>, Fault> {
    let id = |row: &Row<'_>| row.value::<Uuid>("id");
    let read = match what {
        ReadWhat::Ids(ids) => {
            let ids = array(ids.iter().map(|id| id.0));
            tx.rows(READ_NAMED, &[&user.0, &ids, &tx.micros()], id)?
        }
        ReadWhat::UpTo { room, up_to } => {
            let (room, up_to) = (room.map(Uuid::from), up_to.map_or(Uuid::max(), Uuid::from));
            tx.rows(READ, &[&user.0, &room, &up_to, &tx.micros()], id)?
        }
    };
    if read.is_empty() {
        return Ok(None);
    }
    let left = unread(tx, user)?.total;
    let data = match what {
        ReadWhat::Ids(_) => json!({ "notification_ids": read, "unread": left }),
        ReadWhat::UpTo { room, .. } => {
            json!({ "room_id": room, "up_to": read.iter().max(), "unread": left })
        }
    };
    append_one(tx, &Draft::of_user(user, user, EventKind::NotificationRead, &data)).map(Some)
}

/// What a person has not read.
pub(super) fn unread(tx: &Tx<'_>, user: UserId) -> Result<Unread, Fault> {
    let rooms =
        tx.rows(UNREAD, &[&user.0], |row| Ok((RoomId(row.value("room_id")?), row.count("unread")?)))?;
    Ok(Unread { total: rooms.iter().map(|(_, unread)| unread).sum(), rooms })
}

/// What a person wants; the defaults while they have not said, or in so far as a newer release wrote what this one does not know.
pub(super) fn preferences(tx: &Tx<'_>, user: UserId) -> Result<Preferences, Fault> {
    let said = tx.row(PREFERENCES, &[&user.0], |row| {
        serde_json::from_str(row.text("preferences")?)
            .map_err(|error| Fault::internal(format!("preferences can't be read: {error}")))
    })?;
    Ok(said.unwrap_or_default())
}

/// A notification from the columns of `notification_facts`.
pub(super) fn notification(row: &Row<'_>) -> Result<Notification, Fault> {
    let sender = row::sender(row.text("sender_kind")?, row.value("sender_id")?)?;
    let user = UserId(row.value("user_id")?);
    let facts = Facts {
        kind: row.named("kind")?,
        room: RoomId(row.value("room_id")?),
        is_author: sender == Sender::User(user),
        disabled: row.value("disabled")?,
        muted: row.value("muted")?,
        read: row.value("read")?,
        withdrawn: row.value("withdrawn")?,
        left: row.value("left_room")?,
    };
    let text = |column| row.value::<Option<String>>(column);
    Ok(Notification {
        id: NotificationId(row.value("id")?),
        user,
        seq: row.count("seq")?,
        source: row.value("source_id")?,
        sender,
        sender_name: text("sender_name")?,
        room_kind: row.named("room_kind")?,
        room_name: text("room_name")?,
        body: text("body")?.filter(|_| !facts.withdrawn),
        run_status: text("run_status")?.and_then(|text| text.parse().ok()),
        tool: text("tool")?,
        created_at: row.time("created_at")?,
        decision: text("decision")?.and_then(|text| text.parse().ok()),
        facts,
    })
}

fn step(row: &Row<'_>) -> Result<Step, Fault> {
    Ok(Step {
        at: row.time("at")?,
        step: row.value("step")?,
        reason: row.value("reason")?,
        node: row.value::<Option<Uuid>>("node_id")?.map(NodeId),
        device: row.value::<Option<Uuid>>("device_id")?.map(DeviceId),
        detail: row.value("detail")?,
    })
}
