//! Whose connection it is.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Who a connection belongs to. As JSON one field: `user` or `agent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Account {
    /// A person.
    User(User),
    /// An agent.
    Agent(AgentSelf),
}

impl Account {
    /// The name of its own stream: the inbox of a person, the requests of an agent.
    #[must_use]
    pub fn stream(&self) -> String {
        match self {
            Self::User(user) => format!("user:{}", user.id),
            Self::Agent(agent) => format!("agent:{}", agent.id),
        }
    }
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

/// An agent as it is told about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSelf {
    /// Which agent.
    pub id: Uuid,
    /// The unique name that mentions use.
    pub handle: String,
    /// The name that people read.
    pub display_name: String,
}
