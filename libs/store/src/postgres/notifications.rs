//! Notifications in PostgreSQL.
//!
//! They are made at the end of the transaction that writes what they are about, under the lock of each person's stream
//! ([`Notices`]). Marking them as read takes the same lock, so no mark falls between.

use async_trait::async_trait;
use domain::notification::{Facts, Preferences};
use domain::{DeviceId, Event, EventKind, NodeId, NotificationId, RoomId, Sender, UserId};
use serde_json::json;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::StoreError;
use crate::notifications::{Notification, Notifications, ReadWhat, Step, Unread};
use crate::postgres::append::{self, Draft};
use crate::postgres::row::{self, Columns};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::statements;
use crate::postgres::transaction::Transaction;
use crate::postgres::{Postgres, repeated};

mod notice;

pub(super) use notice::{Notice, Notices, by_source};

statements! {
    CREATE = "notifications/create";
    WITHDRAW = "notifications/withdraw";
    READ_ROOM = "notifications/read_room";
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
impl Notifications for Postgres {
    async fn notifications(
        &self,
        user: UserId,
        before: Option<NotificationId>,
        unread_only: bool,
        limit: u32,
    ) -> Result<Vec<Notification>, StoreError> {
        let before = before.map(Uuid::from);
        let rows = self.rows(LIST, &[&user.0, &before, &unread_only, &i64::from(limit)]).await?;
        Ok(rows.iter().map(notification).collect::<Result<_, Fault>>()?)
    }

    async fn unread(&self, user: UserId) -> Result<Unread, StoreError> {
        Ok(unread(&self.rows(UNREAD, &[&user.0]).await?)?)
    }

    async fn read_notifications(&self, user: UserId, what: &ReadWhat) -> Result<Option<Event>, StoreError> {
        repeated!(self.try_read(user, what))
    }

    async fn notification_trace(
        &self,
        user: UserId,
        notification: NotificationId,
    ) -> Result<Option<(Notification, Vec<Step>)>, StoreError> {
        let Some(found) = self.row(FIND, &[&user.0, &notification.0]).await? else { return Ok(None) };
        let steps = self.rows(STEPS, &[&user.0, &notification.0]).await?;
        let steps = steps.iter().map(step).collect::<Result<_, Fault>>()?;
        Ok(Some((self::notification(&found)?, steps)))
    }

    async fn preferences(&self, user: UserId) -> Result<Preferences, StoreError> {
        let row = self.row(PREFERENCES, &[&user.0]).await?;
        let text = row.as_ref().map(|row| row.value::<Option<&str>>("preferences")).transpose()?;
        Ok(preferences(text.flatten())?)
    }

    async fn set_preferences(&self, user: UserId, preferences: &Preferences) -> Result<(), StoreError> {
        let text = serde_json::to_string(preferences)
            .map_err(|error| StoreError::Internal(format!("preferences that are no JSON: {error}")))?;
        self.rows(PREFER, &[&user.0, &text]).await?;
        Ok(())
    }
}

impl Postgres {
    async fn try_read(&self, user: UserId, what: &ReadWhat) -> Result<Option<Event>, Fault> {
        let (ids, room, up_to) = match what {
            ReadWhat::Ids(ids) => (Some(ids.iter().map(|id| id.0).collect::<Vec<Uuid>>()), None, None),
            ReadWhat::UpTo { room, up_to } => (None, room.map(Uuid::from), up_to.map(Uuid::from)),
        };
        let session = self.session().await?;
        let (transaction, [_, read, left]) = session
            .begin([
                (append::LOCK, &[&[user.0].as_slice()]),
                (READ, &[&user.0, &ids, &room, &up_to]),
                (UNREAD, &[&user.0]),
            ])
            .await?;
        let (transaction, left) = transaction.decided(unread(&left)).await?;
        if read.is_empty() {
            transaction.rollback().await;
            return Ok(None);
        }
        let read = read.iter().map(|row| row.value::<Uuid>("id")).collect::<Result<Vec<_>, _>>();
        let (transaction, read) = transaction.decided(read).await?;
        let data = match what {
            ReadWhat::Ids(_) => json!({ "notification_ids": read, "unread": left.total }),
            ReadWhat::UpTo { .. } => {
                json!({ "room_id": room, "up_to": read.iter().max(), "unread": left.total })
            }
        };
        let draft = Draft::of_user(user, user, EventKind::NotificationRead, &data);
        transaction.append_one(draft).await.map(Some)
    }
}

impl Transaction<'_> {
    /// What notifications are about is gone: rows with the `id` of each message or tool call.
    pub(super) async fn withdraw(&self, gone: &[Row]) -> Result<(), Fault> {
        if gone.is_empty() {
            return Ok(());
        }
        let sources = gone.iter().map(|row| row.value("id")).collect::<Result<Vec<Uuid>, Fault>>()?;
        self.run([(WITHDRAW, &[&sources])]).await?;
        Ok(())
    }

    /// A person, whose stream is locked, has read a room up to a seq: `notification.read`, if that cleared any.
    pub(super) async fn read_up_to(
        &self,
        user: UserId,
        room: RoomId,
        seq: i64,
    ) -> Result<Option<Draft>, Fault> {
        let [read, left] = self.run([(READ_ROOM, &[&user.0, &room.0, &seq]), (UNREAD, &[&user.0])]).await?;
        if read.is_empty() {
            return Ok(None);
        }
        let data = json!({ "room_id": room, "seq": seq, "unread": unread(&left)?.total });
        Ok(Some(Draft::of_user(user, user, EventKind::NotificationRead, &data)))
    }
}

fn unread(rows: &[Row]) -> Result<Unread, Fault> {
    let mut unread = Unread::default();
    for row in rows {
        let count = row.count("unread")?;
        unread.total += count;
        unread.rooms.push((RoomId(row.value("room_id")?), count));
    }
    Ok(unread)
}

/// A notification from the columns of `notification_facts`.
pub(super) fn notification(row: &Row) -> Result<Notification, Fault> {
    let sender = row::sender(row.value("sender_kind")?, row.value("sender_id")?)?;
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
    let named =
        |column| row.value::<Option<&str>>(column).map(|text| text.and_then(|text| text.parse().ok()));
    Ok(Notification {
        id: NotificationId(row.value("id")?),
        user,
        seq: row.count("seq")?,
        source: row.value("source_id")?,
        sender,
        sender_name: row.value("sender_name")?,
        room_kind: row.named("room_kind")?,
        room_name: row.value("room_name")?,
        body: row.value::<Option<String>>("body")?.filter(|_| !facts.withdrawn),
        run_status: row.value::<Option<&str>>("run_status")?.and_then(|text| text.parse().ok()),
        tool: row.value("tool")?,
        created_at: row.value("created_at")?,
        decision: named("decision")?,
        facts,
    })
}

/// What a person wants; the defaults while they have not said, or in so far as a newer release wrote what this one does not know.
pub(super) fn preferences(text: Option<&str>) -> Result<Preferences, Fault> {
    let Some(text) = text else { return Ok(Preferences::default()) };
    serde_json::from_str(text).map_err(|error| Fault::internal(format!("preferences can't be read: {error}")))
}

fn step(row: &Row) -> Result<Step, Fault> {
    Ok(Step {
        at: row.value("at")?,
        step: row.value("step")?,
        reason: row.value("reason")?,
        node: row.value::<Option<Uuid>>("node_id")?.map(NodeId),
        device: row.value::<Option<Uuid>>("device_id")?.map(DeviceId),
        detail: row.value("detail")?,
    })
}
