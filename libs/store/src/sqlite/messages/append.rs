//! Appending messages: the hottest path of the product.
//!
//! A message costs one statement beside what its batch looks up once: who may write to a room, and the room's head, which is counted here
//! and written once. It is inserted without a look-up; only when an index refuses it, it is seen what it repeats.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use domain::{Event, EventId, EventKind, Principal, RoomId};
use rusqlite::Row;

use super::super::fault::Fault;
use super::super::notifications::notice::notify;
use super::super::row::Columns;
use super::super::transaction::Tx;
use super::{ADMIT, APPEND, IS_MESSAGE, KNOWN, SET_HEAD};
use crate::error::Refusal;
use crate::messages::rules::{BAD_REPLY, NO_ROOM};
use crate::messages::{Appended, NewMessage};
use crate::notifications::Notice;
use crate::number::bigint;

/// Appends messages in their order, each with its own outcome, and notifies whom they name.
pub(in crate::sqlite) fn append(
    tx: &Tx<'_>,
    messages: &[NewMessage],
) -> Result<Vec<Result<Appended, Refusal>>, Fault> {
    let mut batch = Batch { tx, admitted: HashMap::new(), heads: HashMap::new() };
    let mut outcomes =
        messages.iter().map(|message| batch.append(message)).collect::<Result<Vec<_>, Fault>>()?;
    batch.write_heads()?;
    for (message, outcome) in messages.iter().zip(&mut outcomes) {
        if let Ok(appended) = outcome
            && appended.fresh
        {
            appended.notified = notified(tx, message, &appended.event)?;
        }
    }
    Ok(outcomes)
}

/// What a batch has looked up, and where it has come to.
struct Batch<'a, 'c> {
    tx: &'a Tx<'c>,
    admitted: HashMap<(RoomId, Principal), bool>,
    /// Of each room: before the batch, and now.
    heads: HashMap<RoomId, (u64, u64)>,
}

impl Batch<'_, '_> {
    fn append(&mut self, message: &NewMessage) -> Result<Result<Appended, Refusal>, Fault> {
        if !self.admits(message)? {
            return Ok(Err(NO_ROOM));
        }
        let answers = self.answers_a_message(message)?;
        if answers && let Some(event) = self.write(message)? {
            return Ok(Ok(Appended { event, fresh: true, notified: Vec::new() }));
        }
        let known = self.tx.row(
            KNOWN,
            &[&message.room.0, &message.sender.id(), &message.nonce, &message.id.0],
            |row| Ok((known(message, row)?, row.value::<bool>("same")?)),
        )?;
        match known {
            Some((event, true)) => Ok(Ok(Appended { event, fresh: false, notified: Vec::new() })),
            Some((_, false)) => Ok(Err(Refusal::NonceReused)),
            None if !answers => Ok(Err(BAD_REPLY)),
            None => Err(Fault::internal("a message was not written, and repeats none")),
        }
    }

    /// Whether somebody may write to a room; if so, its head is known then.
    fn admits(&mut self, message: &NewMessage) -> Result<bool, Fault> {
        let NewMessage { room, sender, .. } = *message;
        let entry = match self.admitted.entry((room, sender)) {
            Entry::Occupied(known) => return Ok(*known.get()),
            Entry::Vacant(entry) => entry,
        };
        let head = self.tx.row(ADMIT, &[&room.0, &sender.id(), &sender.kind()], |row| row.count("head"))?;
        if let Some(head) = head {
            // What this batch wrote before is in no row yet.
            self.heads.entry(room).or_insert((head, head));
        }
        Ok(*entry.insert(head.is_some()))
    }

    fn answers_a_message(&self, message: &NewMessage) -> Result<bool, Fault> {
        message
            .reply_to
            .map_or(Ok(true), |reply_to| self.tx.exists(IS_MESSAGE, &[&message.room.0, &reply_to.0]))
    }

    /// Writes a message under the next number of its room; nothing when its nonce or id was used.
    fn write(&mut self, message: &NewMessage) -> Result<Option<Event>, Fault> {
        let Some((_, head)) = self.heads.get_mut(&message.room) else {
            return Err(Fault::internal("the head of a room is not known"));
        };
        let seq = *head + 1;
        let written = self.tx.execute(
            APPEND,
            &[
                &message.room.0,
                &bigint(seq),
                &message.id.0,
                &self.tx.micros(),
                &message.sender.kind(),
                &message.sender.id(),
                &message.nonce,
                &message.data,
                &message.trace,
            ],
        )?;
        if written == 0 {
            return Ok(None);
        }
        *head = seq;
        Ok(Some(Event {
            stream: message.room.into(),
            seq,
            id: message.id,
            kind: EventKind::MessageCreated,
            at: self.tx.now(),
            sender: message.sender.into(),
            data: message.data.clone(),
            trace: message.trace.clone(),
        }))
    }

    fn write_heads(&self) -> Result<(), Fault> {
        for (room, (before, head)) in &self.heads {
            if head > before {
                self.tx.execute(SET_HEAD, &[&room.0, &bigint(*head)])?;
            }
        }
        Ok(())
    }
}

/// The event that a message repeats.
fn known(message: &NewMessage, row: &Row<'_>) -> Result<Event, Fault> {
    Ok(Event {
        stream: message.room.into(),
        seq: row.count("seq")?,
        id: EventId(row.value("id")?),
        kind: EventKind::MessageCreated,
        at: row.time("at")?,
        sender: message.sender.into(),
        data: row.value("data")?,
        trace: row.value("trace")?,
    })
}

/// What the people are told whom a message notifies.
fn notified(tx: &Tx<'_>, message: &NewMessage, event: &Event) -> Result<Vec<Event>, Fault> {
    let mut told = Vec::new();
    for recipient in &message.recipients {
        let notice =
            Notice { user: recipient.user, kind: recipient.kind, room: message.room, source: message.id.0 };
        told.extend(notify(tx, &notice, event)?);
    }
    Ok(told)
}
