//! Frames from the server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::RawJson;

/// A frame from the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ServerFrame {
    /// The first frame of every connection.
    Hello(Hello),
    /// The answer to `identify` and `resume`.
    Ready(Box<Ready>),
    /// An event of a stream; encode events in bulk with [`crate::EventParts`].
    Event(Event),
    /// Everything up to `ready` has been delivered.
    Live,
    /// The cursor of a stream can't be served.
    Gap(Gap),
    /// Somebody types.
    Typing(UserTyping),
    /// Somebody came, went or fell idle.
    Presence(Presence),
    /// The answer to `send`.
    Sent(Sent),
    /// The answer to `ping`.
    Pong,
    /// A frame of the client was refused; the connection stays open.
    Error(ErrorFrame),
    /// This node is going.
    Drain(Drain),
}

impl ServerFrame {
    /// The value of `op`.
    #[must_use]
    pub const fn op(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Ready(_) => "ready",
            Self::Event(_) => "event",
            Self::Live => "live",
            Self::Gap(_) => "gap",
            Self::Typing(_) => "typing",
            Self::Presence(_) => "presence",
            Self::Sent(_) => "sent",
            Self::Pong => "pong",
            Self::Error(_) => "error",
            Self::Drain(_) => "drain",
        }
    }
}

/// What a client must know before it signs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// How often the client must send `ping`; two missed close the connection with 4009.
    pub heartbeat_interval_ms: u64,
    /// The node that serves this connection.
    pub node: Uuid,
    /// This connection, as in the server's logs.
    pub connection_id: Uuid,
    /// After a loss the client waits a random time of at most this before it reconnects.
    pub reconnect_jitter_ms: u64,
}

/// Who the connection is, and where every stream of it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// The session to `resume`.
    pub session_id: Uuid,
    /// The fencing number of the slot: it grows with every identify and resume.
    pub epoch: u64,
    /// The life of the log that `streams` and all cursors belong to.
    pub log_epoch: Uuid,
    /// The person.
    pub user: User,
    /// The rooms of the person.
    pub rooms: Vec<RoomState>,
    /// The head of every stream that this connection follows, empty ones too.
    pub streams: BTreeMap<String, u64>,
}

/// A person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Who.
    pub id: Uuid,
    /// The unique name that mentions use.
    pub handle: String,
    /// The name that people read.
    pub display_name: String,
    /// `user` or `admin`.
    pub role: String,
}

/// A room as its member sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomState {
    /// Which room.
    pub id: Uuid,
    /// `group` or `dm`.
    pub kind: String,
    /// Its name; direct messages have none.
    pub name: Option<String>,
    /// The number of its newest event, 0 for none.
    pub head: u64,
    /// Events up to this number are no longer kept.
    pub floor: u64,
    /// What the person has read.
    pub last_read: u64,
    /// Whether the person wants no notifications of it.
    pub muted: bool,
    /// The name of its stream.
    pub stream: String,
}

/// One event of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// `room:<id>`, `user:<id>` or `agent:<id>`.
    pub stream: String,
    /// Its number in the stream: from 1, without holes.
    pub seq: u64,
    /// Its id, unique over all streams.
    pub id: Uuid,
    /// What happened.
    pub kind: String,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// In whose name.
    pub sender: Sender,
    /// The body, by kind.
    pub data: RawJson,
}

/// In whose name an event happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// `user`, `agent` or `system`.
    pub kind: String,
    /// Who; `null` for the system.
    pub id: Option<Uuid>,
}

/// A cursor that can't be served: older than what is kept, ahead of the head, or of another log
/// epoch. The client refetches by REST and goes on from `head`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The stream.
    pub stream: String,
    /// Events up to this number are no longer kept.
    pub floor: u64,
    /// Delivery goes on after this number.
    pub head: u64,
}

/// A person types in a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserTyping {
    /// The room.
    pub room_id: Uuid,
    /// The person.
    pub user_id: Uuid,
}

/// Whose presence a frame is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Subject {
    /// A person.
    User(Uuid),
    /// An agent.
    Agent(Uuid),
}

/// Whether somebody is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PresenceStatus {
    /// There, and doing something.
    Online,
    /// Connected, but nobody does anything.
    Idle,
    /// Not connected.
    Offline,
    /// An agent that takes no more work now.
    Busy,
}

/// Somebody came, went or fell idle. As JSON the subject is either `user_id` or `agent_id`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "PresenceFields", into = "PresenceFields")]
pub struct Presence {
    /// Who.
    pub subject: Subject,
    /// How they are now.
    pub status: PresenceStatus,
    /// Grows with each change; a lower one than already seen is old news.
    pub version: u64,
}

#[derive(Clone, Serialize, Deserialize)]
struct PresenceFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent_id: Option<Uuid>,
    status: PresenceStatus,
    version: u64,
}

impl TryFrom<PresenceFields> for Presence {
    type Error = &'static str;

    fn try_from(fields: PresenceFields) -> Result<Self, Self::Error> {
        let subject = match (fields.user_id, fields.agent_id) {
            (Some(user), None) => Subject::User(user),
            (None, Some(agent)) => Subject::Agent(agent),
            _ => return Err("exactly one of user_id and agent_id must be given"),
        };
        Ok(Self { subject, status: fields.status, version: fields.version })
    }
}

impl From<Presence> for PresenceFields {
    fn from(presence: Presence) -> Self {
        let (user_id, agent_id) = match presence.subject {
            Subject::User(user) => (Some(user), None),
            Subject::Agent(agent) => (None, Some(agent)),
        };
        Self { user_id, agent_id, status: presence.status, version: presence.version }
    }
}

/// A message was taken: the answer to `send`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The nonce of the `send`.
    pub nonce: String,
    /// The number of its event in the stream of the room.
    pub seq: u64,
    /// The id of its event.
    pub id: Uuid,
}

/// A frame was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorFrame {
    /// A stable name, from the same closed list as in HTTP problems.
    pub code: String,
    /// For people.
    pub detail: String,
    /// The nonce of the frame that was refused, when it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
}

/// This node is going: reconnect and resume elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drain {
    /// After this delay, so that not all come at once.
    pub after_ms: u64,
}
