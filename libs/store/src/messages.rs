//! Messages: the write path of the log.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{Event, EventId, Principal, RoomId};

use crate::error::{Refusal, StoreError};
use crate::notifications::Recipient;

pub(crate) mod rules;

/// A message to be appended.
#[derive(Debug, Clone)]
pub struct NewMessage {
    /// The id it gets when it is new. Sent again with the same id (the answer was lost) it is the same message.
    pub id: EventId,
    /// Where.
    pub room: RoomId,
    /// Who; must be a member and not disabled: an agent neither revoked nor of somebody disabled.
    pub sender: Principal,
    /// Makes the send safe to repeat: unique per room and sender.
    pub nonce: Option<String>,
    /// The event's body, as JSON text.
    pub data: Arc<str>,
    /// The message it answers; must be a message of the same room.
    pub reply_to: Option<EventId>,
    /// W3C `traceparent` of the call.
    pub trace: Option<Arc<str>>,
    /// People to be notified of it, each once, if they are in the room then. Not its sender.
    pub recipients: Vec<Recipient>,
}

/// A message that stands in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// The event; for a repeated nonce that of the first call.
    pub event: Event,
    /// False when the nonce had been used: nothing was written now.
    pub fresh: bool,
    /// What the people who are notified of it are told in their streams, written in the same commit.
    pub notified: Vec<Event>,
}

/// A new body for a message.
#[derive(Debug, Clone)]
pub struct MessageEdit {
    /// Where.
    pub room: RoomId,
    /// Which message.
    pub message: EventId,
    /// Who edits; only the sender may.
    pub actor: Principal,
    /// Id of the `message.edited` event.
    pub id: EventId,
    /// Body of the `message.edited` event, as JSON text.
    pub data: Arc<str>,
}

/// A reaction that is added or taken back.
#[derive(Debug, Clone)]
pub struct Reaction {
    /// Where.
    pub room: RoomId,
    /// To which message.
    pub message: EventId,
    /// Who.
    pub actor: Principal,
    /// Which.
    pub emoji: String,
}

/// Messages.
#[async_trait]
pub trait Messages {
    /// Appends messages of any rooms in one commit, in the given order. Streams are locked in the order of
    /// their ids. Each message has its own outcome: a refused one takes no seq and does not touch
    /// the others: `NotFound` when there is no such room or the sender is not in it, `NonceReused`, `Invalid` for
    /// `reply_to`. The same nonce twice in one batch is one event.
    ///
    /// # Errors
    ///
    /// When the whole batch failed and nothing was written, or (`Unavailable`) nobody knows.
    async fn append_messages(
        &self,
        messages: &[NewMessage],
    ) -> Result<Vec<Result<Appended, Refusal>>, StoreError>;

    /// Edits a message. History keeps both. Repeated with the same id it is the same edit.
    ///
    /// # Errors
    ///
    /// `NotFound`, `Forbidden` unless by its sender, `MessageDeleted`.
    async fn edit_message(&self, edit: &MessageEdit) -> Result<Event, StoreError>;

    /// Deletes a message: its text, and that of its edits, is removed from the log and from the runs that it
    /// asked for, whose input is null then, and `message.deleted` is appended. Deleting again changes nothing.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Forbidden` unless by its sender or an owner of the room.
    async fn delete_message(
        &self,
        actor: Principal,
        room: RoomId,
        message: EventId,
    ) -> Result<Option<Event>, StoreError>;

    /// Adds a reaction; the same again changes nothing.
    ///
    /// # Errors
    ///
    /// `NotFound`, `MessageDeleted`.
    async fn add_reaction(&self, reaction: &Reaction) -> Result<Option<Event>, StoreError>;

    /// Takes a reaction back; one that is not there changes nothing.
    ///
    /// # Errors
    ///
    /// `NotFound`.
    async fn remove_reaction(&self, reaction: &Reaction) -> Result<Option<Event>, StoreError>;
}
