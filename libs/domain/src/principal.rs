//! Who asks: a person or an agent. Both are members of rooms, read them and write in them.

use std::fmt;

use uuid::Uuid;

use crate::error::Invalid;
use crate::event::Sender;
use crate::id::{AgentId, UserId};
use crate::stream::StreamRef;

/// A person or an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Principal {
    /// A person.
    User(UserId),
    /// An agent.
    Agent(AgentId),
}

impl Principal {
    /// From the `kind` and id that are stored.
    ///
    /// # Errors
    ///
    /// A kind that is neither `user` nor `agent`.
    pub fn from_parts(kind: &str, id: Uuid) -> Result<Self, Invalid> {
        match kind {
            "user" => Ok(Self::User(id.into())),
            "agent" => Ok(Self::Agent(id.into())),
            _ => Err(Invalid::new("kind", kind, "user or agent")),
        }
    }

    /// `user` or `agent`.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Agent(_) => "agent",
        }
    }

    /// The bare id, unique over both.
    #[must_use]
    pub const fn id(self) -> Uuid {
        match self {
            Self::User(id) => id.0,
            Self::Agent(id) => id.0,
        }
    }

    /// The field that names one of this kind in JSON: `user_id` or `agent_id`.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::User(_) => "user_id",
            Self::Agent(_) => "agent_id",
        }
    }

    /// Its inbox.
    #[must_use]
    pub fn stream(self) -> StreamRef {
        match self {
            Self::User(id) => id.into(),
            Self::Agent(id) => id.into(),
        }
    }
}

impl From<UserId> for Principal {
    fn from(id: UserId) -> Self {
        Self::User(id)
    }
}

impl From<AgentId> for Principal {
    fn from(id: AgentId) -> Self {
        Self::Agent(id)
    }
}

impl From<Principal> for Sender {
    fn from(principal: Principal) -> Self {
        match principal {
            Principal::User(id) => Self::User(id),
            Principal::Agent(id) => Self::Agent(id),
        }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind(), self.id())
    }
}
