//! Messages, reactions and the log of a room.

use domain::{EventId, RoomId};
use protocol::frame::Event;
use reqwest::Method;
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use super::call::Call;
use super::shapes::{MessageWritten, Written};
use super::{Api, ApiError, EventPage, Sent};

/// A message to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewMessage {
    /// The text.
    pub body: String,
    /// The same nonce again is the same message, not a second one.
    pub nonce: String,
    /// The message that this one answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<EventId>,
}

impl NewMessage {
    /// A message with a fresh nonce.
    #[must_use]
    pub fn new(body: impl Into<String>) -> Self {
        Self { body: body.into(), nonce: Uuid::now_v7().simple().to_string(), reply_to: None }
    }
}

/// Which events of a room are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Range {
    /// The newest.
    #[default]
    Newest,
    /// Above this number, the oldest first.
    After(u64),
    /// Below this number, the newest of them.
    Before(u64),
    /// `next` of the page before.
    Next(String),
}

impl Api {
    /// Sends a message. Safe to repeat with the same nonce.
    ///
    /// # Errors
    ///
    /// Not in the room, or the body is not allowed.
    pub async fn send_message(&self, room: RoomId, message: &NewMessage) -> Result<Sent, ApiError> {
        let room = room.to_string();
        let path = ["v1", "rooms", &room, "messages"];
        let answer = self.call(&Call::new(Method::POST, &path).body(message)).await?;
        let MessageWritten { event } = answer.read()?;
        Ok(Sent { event, is_new: answer.is_created() })
    }

    /// Gives a message a new body. Answers the event of it, if the server tells.
    ///
    /// # Errors
    ///
    /// Not one's own message, or deleted.
    pub async fn edit_message(
        &self,
        room: RoomId,
        message: EventId,
        body: &str,
    ) -> Result<Option<Event>, ApiError> {
        let (room, message) = (room.to_string(), message.to_string());
        let path = ["v1", "rooms", &room, "messages", &message];
        self.write(&Call::new(Method::PATCH, &path).body(&json!({ "body": body }))).await
    }

    /// Deletes a message. Answers the event of it, if the server tells.
    ///
    /// # Errors
    ///
    /// Neither one's own message nor one's own room.
    pub async fn delete_message(&self, room: RoomId, message: EventId) -> Result<Option<Event>, ApiError> {
        let (room, message) = (room.to_string(), message.to_string());
        self.write(&Call::new(Method::DELETE, &["v1", "rooms", &room, "messages", &message])).await
    }

    /// Adds a reaction. Answers the event of it, if there was a change and the server tells.
    ///
    /// # Errors
    ///
    /// Not in the room, or the message is gone.
    pub async fn add_reaction(
        &self,
        room: RoomId,
        message: EventId,
        emoji: &str,
    ) -> Result<Option<Event>, ApiError> {
        self.reaction(Method::PUT, room, message, emoji).await
    }

    /// Takes a reaction back. Answers the event of it, if there was a change and the server tells.
    ///
    /// # Errors
    ///
    /// Not in the room, or the message is gone.
    pub async fn remove_reaction(
        &self,
        room: RoomId,
        message: EventId,
        emoji: &str,
    ) -> Result<Option<Event>, ApiError> {
        self.reaction(Method::DELETE, room, message, emoji).await
    }

    /// The events of a room, by number, at most `limit` of them.
    ///
    /// # Errors
    ///
    /// Not in the room.
    pub async fn events(
        &self,
        room: RoomId,
        range: &Range,
        limit: Option<u32>,
    ) -> Result<EventPage, ApiError> {
        let room = room.to_string();
        let path = ["v1", "rooms", &room, "events"];
        let call = Call::new(Method::GET, &path).query("limit", limit);
        let call = match range {
            Range::Newest => call,
            Range::After(seq) => call.query("after", Some(seq)),
            Range::Before(seq) => call.query("before", Some(seq)),
            Range::Next(cursor) => call.query("cursor", Some(cursor)),
        };
        self.ask(&call).await
    }

    async fn reaction(
        &self,
        method: Method,
        room: RoomId,
        message: EventId,
        emoji: &str,
    ) -> Result<Option<Event>, ApiError> {
        let (room, message) = (room.to_string(), message.to_string());
        let path = ["v1", "rooms", &room, "messages", &message, "reactions", emoji];
        self.write(&Call::new(method, &path)).await
    }

    async fn write(&self, call: &Call<'_>) -> Result<Option<Event>, ApiError> {
        let answer = self.call(call).await?;
        if answer.is_empty() {
            return Ok(None);
        }
        answer.read().map(|Written { event }| event)
    }
}
