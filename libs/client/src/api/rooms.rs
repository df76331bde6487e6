//! Rooms and members.

use domain::{RoomId, RoomKind, UserId};
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::call::Call;
use super::{Api, ApiError, Page, Room};

/// A room to be created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewRoom {
    /// What it is.
    pub kind: RoomKind,
    /// Its name; direct messages have none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The other members; for a dm exactly one.
    pub members: Vec<UserId>,
}

impl NewRoom {
    /// A room with a name.
    #[must_use]
    pub fn group(name: impl Into<String>, members: impl Into<Vec<UserId>>) -> Self {
        Self { kind: RoomKind::Group, name: Some(name.into()), members: members.into() }
    }

    /// Direct messages with somebody.
    #[must_use]
    pub fn dm(with: UserId) -> Self {
        Self { kind: RoomKind::Dm, name: None, members: vec![with] }
    }
}

impl Api {
    /// Creates a room, or finds the dm of the pair. The same key again gives the same room.
    ///
    /// # Errors
    ///
    /// The name is not allowed, or a member does not exist.
    pub async fn create_room(&self, room: &NewRoom, idempotency_key: Option<&str>) -> Result<Room, ApiError> {
        let call = Call::new(Method::POST, &["v1", "rooms"]).body(room).idempotent(idempotency_key);
        self.ask(&call).await
    }

    /// The rooms of the person signed in.
    ///
    /// # Errors
    ///
    /// Not signed in, or no answer.
    pub async fn rooms(&self, cursor: Option<&str>) -> Result<Page<Room>, ApiError> {
        self.ask(&Call::new(Method::GET, &["v1", "rooms"]).query("cursor", cursor)).await
    }

    /// One room.
    ///
    /// # Errors
    ///
    /// There is no such room, or one is not in it.
    pub async fn room(&self, room: RoomId) -> Result<Room, ApiError> {
        let room = room.to_string();
        self.ask(&Call::new(Method::GET, &["v1", "rooms", &room])).await
    }

    /// Adds people to a group. Answers the room as it is then.
    ///
    /// # Errors
    ///
    /// Not an owner, a dm, or unknown people.
    pub async fn add_members(&self, room: RoomId, members: &[UserId]) -> Result<Room, ApiError> {
        let room = room.to_string();
        let path = ["v1", "rooms", &room, "members"];
        self.ask(&Call::new(Method::POST, &path).body(&json!({ "members": members }))).await
    }

    /// Removes somebody from a group, or leaves it.
    ///
    /// # Errors
    ///
    /// Neither an owner nor oneself, or a dm.
    pub async fn remove_member(&self, room: RoomId, member: UserId) -> Result<(), ApiError> {
        let (room, member) = (room.to_string(), member.to_string());
        self.call(&Call::new(Method::DELETE, &["v1", "rooms", &room, "members", &member])).await.map(|_| ())
    }

    /// Moves what one has read forward. Answers the number that stands, which never goes back.
    ///
    /// # Errors
    ///
    /// A number beyond the head.
    pub async fn read(&self, room: RoomId, seq: u64) -> Result<u64, ApiError> {
        #[derive(Deserialize)]
        struct Stands {
            seq: u64,
        }
        let room = room.to_string();
        let path = ["v1", "rooms", &room, "read"];
        let stands: Stands = self.ask(&Call::new(Method::PUT, &path).body(&json!({ "seq": seq }))).await?;
        Ok(stands.seq)
    }

    /// Mutes a room for oneself, or no longer.
    ///
    /// # Errors
    ///
    /// Not in the room.
    pub async fn mute(&self, room: RoomId, muted: bool) -> Result<Room, ApiError> {
        self.settings(room, &json!({ "muted": muted })).await
    }

    /// Gives a group another name.
    ///
    /// # Errors
    ///
    /// Not an owner, a dm, or a name that is not allowed.
    pub async fn rename(&self, room: RoomId, name: &str) -> Result<Room, ApiError> {
        self.settings(room, &json!({ "name": name })).await
    }

    async fn settings(&self, room: RoomId, settings: &serde_json::Value) -> Result<Room, ApiError> {
        let room = room.to_string();
        self.ask(&Call::new(Method::PUT, &["v1", "rooms", &room, "settings"]).body(settings)).await
    }

    /// Tells the room that one is typing.
    ///
    /// # Errors
    ///
    /// Not in the room.
    pub async fn typing(&self, room: RoomId) -> Result<(), ApiError> {
        let room = room.to_string();
        self.call(&Call::new(Method::POST, &["v1", "rooms", &room, "typing"])).await.map(|_| ())
    }
}
