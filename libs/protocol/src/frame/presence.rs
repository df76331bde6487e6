//! Who is there.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

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
