//! Streams: what events are numbered in.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::error::Invalid;
use crate::id::{AgentId, RoomId, UserId};

/// What a stream belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamKind {
    /// The events of a room.
    Room,
    /// The inbox of a person.
    User,
    /// The inbox of an agent.
    Agent,
}

impl StreamKind {
    /// The prefix of the stream's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Room => "room",
            Self::User => "user",
            Self::Agent => "agent",
        }
    }
}

impl FromStr for StreamKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "room" => Ok(Self::Room),
            "user" => Ok(Self::User),
            "agent" => Ok(Self::Agent),
            _ => Err(Invalid::new("stream", text, "room, user or agent")),
        }
    }
}

/// A stream by kind and id; its name is `room:<id>`, `user:<id>` or `agent:<id>`.
///
/// The id is that of the room, person or agent, and alone already unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamRef {
    /// What the stream belongs to.
    pub kind: StreamKind,
    /// The id of the owner, which is the id of the stream.
    pub id: Uuid,
}

impl From<RoomId> for StreamRef {
    fn from(id: RoomId) -> Self {
        Self { kind: StreamKind::Room, id: id.0 }
    }
}

impl From<UserId> for StreamRef {
    fn from(id: UserId) -> Self {
        Self { kind: StreamKind::User, id: id.0 }
    }
}

impl From<AgentId> for StreamRef {
    fn from(id: AgentId) -> Self {
        Self { kind: StreamKind::Agent, id: id.0 }
    }
}

impl fmt::Display for StreamRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.as_str(), self.id)
    }
}

impl FromStr for StreamRef {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let refuse = || Invalid::new("stream", text, "room:<id>, user:<id> or agent:<id>");
        let (kind, id) = text.split_once(':').ok_or_else(refuse)?;
        Ok(Self { kind: kind.parse().map_err(|_| refuse())?, id: id.parse().map_err(|_| refuse())? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for stream in [StreamRef::from(RoomId::new()), UserId::new().into(), AgentId::new().into()] {
            assert_eq!(stream.to_string().parse(), Ok(stream));
        }
        for text in ["", "room", "room:", "room:1", "den:0190b4a5-0000-7000-8000-000000000000"] {
            assert!(text.parse::<StreamRef>().is_err(), "{text}");
        }
    }
}
