//! `presence` to and from protobuf.

use super::{id, pb};
use crate::codec::DecodeError;
use crate::frame::{Presence, PresenceStatus, Subject};

impl From<&Presence> for pb::Presence {
    fn from(presence: &Presence) -> Self {
        let status = match presence.status {
            PresenceStatus::Online => pb::PresenceStatus::Online,
            PresenceStatus::Idle => pb::PresenceStatus::Idle,
            PresenceStatus::Offline => pb::PresenceStatus::Offline,
            PresenceStatus::Busy => pb::PresenceStatus::Busy,
        };
        Self {
            who: Some(match presence.subject {
                Subject::User(user) => pb::presence::Who::UserId(user.to_string()),
                Subject::Agent(agent) => pb::presence::Who::AgentId(agent.to_string()),
            }),
            status: status.into(),
            version: presence.version,
        }
    }
}

impl TryFrom<pb::Presence> for Presence {
    type Error = DecodeError;

    fn try_from(presence: pb::Presence) -> Result<Self, DecodeError> {
        let status = match presence.status() {
            pb::PresenceStatus::Online => PresenceStatus::Online,
            pb::PresenceStatus::Idle => PresenceStatus::Idle,
            pb::PresenceStatus::Offline => PresenceStatus::Offline,
            pb::PresenceStatus::Busy => PresenceStatus::Busy,
            pb::PresenceStatus::Unspecified => {
                return Err(DecodeError::field("status", "is missing or unknown"));
            }
        };
        let subject = match presence.who {
            Some(pb::presence::Who::UserId(user)) => Subject::User(id("user_id", &user)?),
            Some(pb::presence::Who::AgentId(agent)) => Subject::Agent(id("agent_id", &agent)?),
            None => return Err(DecodeError::field("user_id", "is missing (or agent_id)")),
        };
        Ok(Self { subject, status, version: presence.version })
    }
}
