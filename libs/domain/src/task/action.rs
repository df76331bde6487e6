//! What tasks do.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::run::named;
use crate::{AgentId, Invalid, RoomId};

named! {
    /// Work on Switchboard itself.
    SystemJob, "action.name", "retention, ticket_reap, key_check or noop":
    /// Removes what is spent.
    Retention = "retention",
    /// Removes tickets past their time, full rate buckets, silent nodes.
    TicketReap = "ticket_reap",
    /// Looks whether the signing keys can be read and one of them signs.
    KeyCheck = "key_check",
    /// Nothing: for trying out schedules, and for measurements.
    Noop = "noop",
}

/// What a task does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Says something in a room, in the owner's name.
    Message {
        /// Where.
        room_id: RoomId,
        /// What.
        body: String,
    },
    /// Asks an agent for a run, and follows it to its end.
    AgentRun {
        /// Where.
        room_id: RoomId,
        /// Whom.
        agent_id: AgentId,
        /// What is asked: any JSON.
        input: serde_json::Value,
    },
    /// Posts to a URL.
    Webhook {
        /// Where to.
        url: String,
        /// What is sent as JSON: any; without one, what made the run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        body: Option<serde_json::Value>,
    },
    /// Does something for Switchboard itself.
    System {
        /// What.
        name: SystemJob,
    },
}

impl Action {
    /// The room it acts in, if it does.
    #[must_use]
    pub const fn room(&self) -> Option<RoomId> {
        match self {
            Self::Message { room_id, .. } | Self::AgentRun { room_id, .. } => Some(*room_id),
            Self::Webhook { .. } | Self::System { .. } => None,
        }
    }

    /// Its kind, as it is sent.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Message { .. } => "message",
            Self::AgentRun { .. } => "agent_run",
            Self::Webhook { .. } => "webhook",
            Self::System { .. } => "system",
        }
    }
}
