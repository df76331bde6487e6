//! Messages in SQLite. `append` holds the hottest path of the product.

use async_trait::async_trait;
use domain::{Event, EventId, Principal, RoomId};
use uuid::Uuid;

use super::Sqlite;
use super::append::append_one;
use super::fault::Fault;
use super::notifications::withdraw;
use super::row::{self, Columns};
use super::statement::statements;
use super::transaction::Tx;
use crate::error::{Refusal, StoreError};
use crate::messages::rules::{Change, Judged, NO_MESSAGE, NO_ROOM, deleted, edited, same_edit};
use crate::messages::{Appended, MessageEdit, Messages, NewMessage, Reaction};

mod append;

pub(super) use append::append;

statements! {
    ADMIT = "messages/admit";
    APPEND = "messages/append";
    KNOWN = "messages/known";
    IS_MESSAGE = "messages/is_message";
    SET_HEAD = "messages/set_head";
    JUDGE = "messages/judge";
    EVENT = "messages/event";
    ERASE = "messages/erase";
    ERASE_TOLD = "messages/erase_told";
    ERASE_ASKED = "messages/erase_asked";
    DROP_REACTIONS = "messages/drop_reactions";
    REACT = "messages/react";
    UNREACT = "messages/unreact";
}

#[async_trait]
impl Messages for Sqlite {
    async fn append_messages(
        &self,
        messages: &[NewMessage],
    ) -> Result<Vec<Result<Appended, Refusal>>, StoreError> {
        if messages.is_empty() {
            return Ok(Vec::new());
        }
        let messages = messages.to_vec();
        self.write(move |tx| append(tx, &messages)).await
    }

    async fn edit_message(&self, edit: &MessageEdit) -> Result<Event, StoreError> {
        let edit = edit.clone();
        self.write(move |tx| {
            judge(tx, edit.actor, edit.room, edit.message)?.may_edit(edit.actor)?;
            match tx.row(EVENT, &[&edit.id.0], row::event)? {
                Some(event) => Ok(same_edit(&edit, event)?),
                None => append_one(tx, &edited(&edit)),
            }
        })
        .await
    }

    async fn delete_message(
        &self,
        actor: Principal,
        room: RoomId,
        message: EventId,
    ) -> Result<Option<Event>, StoreError> {
        self.write(move |tx| delete(tx, actor, room, message)).await
    }

    async fn add_reaction(&self, reaction: &Reaction) -> Result<Option<Event>, StoreError> {
        let reaction = reaction.clone();
        self.write(move |tx| react(tx, &reaction, Change::Add)).await
    }

    async fn remove_reaction(&self, reaction: &Reaction) -> Result<Option<Event>, StoreError> {
        let reaction = reaction.clone();
        self.write(move |tx| react(tx, &reaction, Change::Remove)).await
    }
}

/// A message and the one who wants to change it.
fn judge(tx: &Tx<'_>, actor: Principal, room: RoomId, message: EventId) -> Result<Judged, Fault> {
    tx.row(JUDGE, &[&room.0, &actor.id(), &actor.kind(), &message.0], |row| {
        let sender: Option<Uuid> = row.value("sender_id")?;
        Ok(Judged {
            role: row.named("role")?,
            sender: sender.ok_or(NO_MESSAGE)?,
            deleted: row.value("deleted")?,
        })
    })?
    .ok_or_else(|| NO_ROOM.into())
}

fn delete(tx: &Tx<'_>, actor: Principal, room: RoomId, message: EventId) -> Result<Option<Event>, Fault> {
    let standing = judge(tx, actor, room, message)?;
    standing.may_delete(actor)?;
    if standing.deleted {
        return Ok(None);
    }
    withdraw(tx, &[message.0])?;
    tx.execute(ERASE_TOLD, &[&message.0, &message.to_string()])?;
    tx.execute(ERASE_ASKED, &[&message.0])?;
    tx.execute(ERASE, &[&room.0, &message.0])?;
    tx.execute(DROP_REACTIONS, &[&message.0])?;
    append_one(tx, &deleted(actor, room, message)).map(Some)
}

fn react(tx: &Tx<'_>, reaction: &Reaction, change: Change) -> Result<Option<Event>, Fault> {
    judge(tx, reaction.actor, reaction.room, reaction.message)?.may_react(change)?;
    let statement = match change {
        Change::Add => REACT,
        Change::Remove => UNREACT,
    };
    let changed = tx.execute(statement, &[&reaction.message.0, &reaction.actor.id(), &reaction.emoji])?;
    if changed == 0 {
        return Ok(None);
    }
    append_one(tx, &change.draft(reaction)).map(Some)
}
