//! Messages in PostgreSQL.
//!
//! [`Messages::append_messages`] is the hottest path of the product: one round trip, pipelined, for a batch of any rooms.
//! The streams are locked by a statement of their own; the next one begins a new snapshot under these locks, so
//! it sees every nonce and membership that others committed before, judges each message, numbers
//! those that are good and inserts them. What the other calls look at is changed under the same room lock only.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Event, EventId, EventKind, Principal, RoomId};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::error::{Refusal, StoreError};
use crate::messages::rules::{BAD_REPLY, Change, Judged, NO_MESSAGE, NO_ROOM, deleted, edited, same_edit};
use crate::messages::{Appended, MessageEdit, Messages, NewMessage, Reaction};
use crate::postgres::append::{self, Append};
use crate::postgres::notifications::{CREATE, Notice, Notices, WITHDRAW, by_source};
use crate::postgres::row::{self, Columns};
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::{Statement, statements};
use crate::postgres::transaction::Step;
use crate::postgres::{Postgres, repeated};

statements! {
    APPEND = "messages/append";
    JUDGE = "messages/judge";
    ERASE = "messages/erase";
    DROP_REACTIONS = "messages/drop_reactions";
    LOCK_ASKED = "messages/lock_asked";
    ERASE_ASKED = "messages/erase_asked";
    REACT = "messages/react";
    UNREACT = "messages/unreact";
    EVENT = "log/event";
}

#[async_trait]
impl Messages for Postgres {
    async fn append_messages(
        &self,
        messages: &[NewMessage],
    ) -> Result<Vec<Result<Appended, Refusal>>, StoreError> {
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let batch = Batch::new(messages);
        repeated!(self.try_append(&batch))
    }

    async fn edit_message(&self, edit: &MessageEdit) -> Result<Event, StoreError> {
        repeated!(self.try_edit(edit))
    }

    async fn delete_message(
        &self,
        actor: Principal,
        room: RoomId,
        message: EventId,
    ) -> Result<Option<Event>, StoreError> {
        repeated!(self.try_delete(actor, room, message))
    }

    async fn add_reaction(&self, reaction: &Reaction) -> Result<Option<Event>, StoreError> {
        repeated!(self.try_react(reaction, Change::Add))
    }

    async fn remove_reaction(&self, reaction: &Reaction) -> Result<Option<Event>, StoreError> {
        repeated!(self.try_react(reaction, Change::Remove))
    }
}

/// Messages as the parameters of [`APPEND`], and the streams to be locked for them.
pub(super) struct Batch<'a> {
    messages: &'a [NewMessage],
    streams: Vec<Uuid>,
    ids: Vec<Uuid>,
    rooms: Vec<Uuid>,
    sender_kinds: Vec<&'static str>,
    senders: Vec<Uuid>,
    nonces: Vec<Option<&'a str>>,
    data: Vec<&'a str>,
    replies: Vec<Option<Uuid>>,
    traces: Vec<Option<&'a str>>,
    notices: Notices,
}

impl<'a> Batch<'a> {
    pub(super) fn new(messages: &'a [NewMessage]) -> Self {
        let rooms: Vec<Uuid> = messages.iter().map(|message| message.room.0).collect();
        let notices = notices(messages);
        let mut streams: Vec<Uuid> = rooms.iter().chain(notices.people()).copied().collect();
        streams.sort_unstable();
        streams.dedup();
        Self {
            messages,
            streams,
            ids: messages.iter().map(|message| message.id.0).collect(),
            rooms,
            sender_kinds: messages.iter().map(|message| message.sender.kind()).collect(),
            senders: messages.iter().map(|message| message.sender.id()).collect(),
            nonces: messages.iter().map(|message| message.nonce.as_deref()).collect(),
            data: messages.iter().map(|message| &*message.data).collect(),
            replies: messages.iter().map(|message| message.reply_to.map(Uuid::from)).collect(),
            traces: messages.iter().map(|message| message.trace.as_deref()).collect(),
            notices,
        }
    }

    pub(super) fn params(&self) -> [&(dyn ToSql + Sync); 8] {
        [
            &self.ids,
            &self.rooms,
            &self.sender_kinds,
            &self.senders,
            &self.nonces,
            &self.data,
            &self.replies,
            &self.traces,
        ]
    }

    /// The streams to be locked: of the rooms, and of the people who are notified.
    pub(super) fn streams(&self) -> &[Uuid] {
        &self.streams
    }

    /// Who is notified of them.
    pub(super) const fn notices(&self) -> &Notices {
        &self.notices
    }

    /// The outcomes, in the order of the messages, from the rows that [`APPEND`] gave.
    pub(super) fn outcomes(&self, rows: &[Row]) -> Result<Vec<Result<Appended, Refusal>>, Fault> {
        if rows.len() != self.messages.len() {
            return Err(Fault::internal("another number of verdicts than of messages"));
        }
        let mut outcomes: Vec<Result<Appended, Refusal>> = Vec::with_capacity(rows.len());
        for (message, row) in self.messages.iter().zip(rows) {
            outcomes.push(match row.value::<i32>("verdict")? {
                0 => Ok(Appended { event: written(message, row)?, fresh: true, notified: Vec::new() }),
                1 => {
                    Ok(Appended { event: repeated_event(message, row)?, fresh: false, notified: Vec::new() })
                }
                2 => first_of(&outcomes, row.value("same_as")?)?,
                3 => Err(NO_ROOM),
                4 => Err(Refusal::NonceReused),
                5 => Err(BAD_REPLY),
                verdict => return Err(Fault::internal(format!("messages/append gave verdict {verdict}"))),
            });
        }
        Ok(outcomes)
    }
}

/// Who is to be notified of messages, each once for a message.
fn notices(messages: &[NewMessage]) -> Notices {
    let mut notices = Notices::default();
    for message in messages {
        for recipient in &message.recipients {
            let notice = Notice {
                user: recipient.user,
                kind: recipient.kind,
                room: message.room,
                source: message.id.0,
            };
            notices.add(&notice, message.id);
        }
    }
    notices
}

/// What came of the message at `position` (from 1), which a later one of the batch repeats.
fn first_of(
    outcomes: &[Result<Appended, Refusal>],
    position: i64,
) -> Result<Result<Appended, Refusal>, Fault> {
    usize::try_from(position - 1)
        .ok()
        .and_then(|index| outcomes.get(index))
        .map(|first| first.clone().map(|appended| Appended { fresh: false, ..appended }))
        .ok_or_else(|| Fault::internal("a message repeats one that does not come before it"))
}

fn written(message: &NewMessage, row: &Row) -> Result<Event, Fault> {
    Ok(Event {
        stream: message.room.into(),
        seq: row.count("seq")?,
        id: EventId(row.value("id")?),
        kind: EventKind::MessageCreated,
        at: row.value("at")?,
        sender: message.sender.into(),
        data: message.data.clone(),
        trace: message.trace.clone(),
    })
}

fn repeated_event(message: &NewMessage, row: &Row) -> Result<Event, Fault> {
    Ok(Event {
        data: Arc::from(row.value::<&str>("data")?),
        trace: row.value::<Option<&str>>("trace")?.map(Arc::from),
        ..written(message, row)?
    })
}

/// A message and the one who wants to change it, read under the room's lock.
fn judged(rows: &[Row]) -> Result<Judged, Fault> {
    let row = rows.first().ok_or(NO_ROOM)?;
    let sender: Option<Uuid> = row.value("sender_id")?;
    Ok(Judged { role: row.named("role")?, sender: sender.ok_or(NO_MESSAGE)?, deleted: row.value("deleted")? })
}

impl Postgres {
    async fn try_append(&self, batch: &Batch<'_>) -> Result<Vec<Result<Appended, Refusal>>, Fault> {
        let session = self.session().await?;
        let (streams, appending) = ([&batch.streams as _], batch.params());
        let [lock, append]: [Step<'_>; 2] = [(append::LOCK, &streams), (APPEND, &appending)];
        if batch.notices.is_empty() {
            let [_, verdicts] = session.transact([lock, append]).await?;
            return batch.outcomes(&verdicts);
        }
        let [_, verdicts, told] = session.transact([lock, append, (CREATE, &batch.notices.params())]).await?;
        let (mut outcomes, mut notified) = (batch.outcomes(&verdicts)?, by_source(&told)?);
        for appended in outcomes.iter_mut().flatten().filter(|appended| appended.fresh) {
            appended.notified = notified.remove(&appended.event.id.0).unwrap_or_default();
        }
        Ok(outcomes)
    }

    async fn try_edit(&self, edit: &MessageEdit) -> Result<Event, Fault> {
        let session = self.session().await?;
        let (room, actor, message) = (edit.room.0, edit.actor.id(), edit.message.0);
        let (transaction, [_, found, earlier]) = session
            .begin([
                (append::LOCK, &[&[room].as_slice()]),
                (JUDGE, &[&room, &actor, &edit.actor.kind(), &message]),
                (EVENT, &[&edit.id.0]),
            ])
            .await?;
        let may_edit = judged(&found).and_then(|message| Ok(message.may_edit(edit.actor)?));
        let (transaction, ()) = transaction.decided(may_edit).await?;
        if let Some(row) = earlier.first() {
            let same = row::event(row).and_then(|event| Ok(same_edit(edit, event)?));
            let (transaction, earlier) = transaction.decided(same).await?;
            transaction.rollback().await;
            return Ok(earlier);
        }
        transaction.append_one(edited(edit)).await
    }

    async fn try_delete(
        &self,
        actor: Principal,
        room: RoomId,
        message: EventId,
    ) -> Result<Option<Event>, Fault> {
        let session = self.session().await?;
        let (transaction, [_, found]) = session
            .begin([
                (append::LOCK, &[&[room.0].as_slice()]),
                (JUDGE, &[&room.0, &actor.id(), &actor.kind(), &message.0]),
            ])
            .await?;
        let may_delete = judged(&found).and_then(|message| {
            message.may_delete(actor)?;
            Ok(message)
        });
        let (transaction, standing) = transaction.decided(may_delete).await?;
        if standing.deleted {
            transaction.rollback().await;
            return Ok(None);
        }
        let drafts = [deleted(actor, room, message)];
        let append = Append::new(&drafts);
        let [_, _, _, _, _, rows] = transaction
            .commit([
                (WITHDRAW, &[&[message.0].as_slice()]),
                (LOCK_ASKED, &[&message.0]),
                (ERASE_ASKED, &[&message.0]),
                (ERASE, &[&room.0, &message.0]),
                (DROP_REACTIONS, &[&message.0]),
                (append::APPEND, &append.params()),
            ])
            .await?;
        Ok(append.events(&rows)?.pop())
    }

    async fn try_react(&self, reaction: &Reaction, change: Change) -> Result<Option<Event>, Fault> {
        let session = self.session().await?;
        let (room, actor, message) = (reaction.room.0, reaction.actor.id(), reaction.message.0);
        let react: (&'static Statement, &[&(dyn ToSql + Sync)]) = match change {
            Change::Add => (REACT, &[&room, &message, &actor, &reaction.emoji]),
            Change::Remove => (UNREACT, &[&message, &actor, &reaction.emoji]),
        };
        let (transaction, [_, found, changed]) = session
            .begin([
                (append::LOCK, &[&[room].as_slice()]),
                (JUDGE, &[&room, &actor, &reaction.actor.kind(), &message]),
                react,
            ])
            .await?;
        let may_react = judged(&found).and_then(|message| Ok(message.may_react(change)?));
        let (transaction, ()) = transaction.decided(may_react).await?;
        if changed.is_empty() {
            transaction.rollback().await;
            return Ok(None);
        }
        transaction.append_one(change.draft(reaction)).await.map(Some)
    }
}
