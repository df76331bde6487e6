//! `ready` to and from protobuf.

use super::{id, pb};
use crate::codec::DecodeError;
use crate::frame::{Account, AgentSelf, Ready, RoomState, User};

impl From<&Ready> for pb::Ready {
    fn from(ready: &Ready) -> Self {
        Self {
            session_id: ready.session_id.to_string(),
            epoch: ready.epoch,
            log_epoch: ready.log_epoch.to_string(),
            account: Some(match &ready.account {
                Account::User(user) => pb::ready::Account::User(pb::User {
                    id: user.id.to_string(),
                    handle: user.handle.clone(),
                    display_name: user.display_name.clone(),
                    role: user.role.clone(),
                }),
                Account::Agent(agent) => pb::ready::Account::Agent(pb::AgentSelf {
                    id: agent.id.to_string(),
                    handle: agent.handle.clone(),
                    display_name: agent.display_name.clone(),
                }),
            }),
            rooms: ready.rooms.iter().map(Into::into).collect(),
            streams: ready.streams.clone(),
        }
    }
}

impl From<&RoomState> for pb::RoomState {
    fn from(room: &RoomState) -> Self {
        Self {
            id: room.id.to_string(),
            kind: room.kind.clone(),
            name: room.name.clone(),
            head: room.head,
            floor: room.floor,
            last_read: room.last_read,
            muted: room.muted,
            stream: room.stream.clone(),
        }
    }
}

impl TryFrom<pb::Ready> for Ready {
    type Error = DecodeError;

    fn try_from(ready: pb::Ready) -> Result<Self, DecodeError> {
        let account = match ready.account {
            Some(pb::ready::Account::User(user)) => Account::User(User {
                id: id("user.id", &user.id)?,
                handle: user.handle,
                display_name: user.display_name,
                role: user.role,
            }),
            Some(pb::ready::Account::Agent(agent)) => Account::Agent(AgentSelf {
                id: id("agent.id", &agent.id)?,
                handle: agent.handle,
                display_name: agent.display_name,
            }),
            None => return Err(DecodeError::field("user", "is missing (or agent)")),
        };
        Ok(Self {
            session_id: id("session_id", &ready.session_id)?,
            epoch: ready.epoch,
            log_epoch: id("log_epoch", &ready.log_epoch)?,
            account,
            rooms: ready.rooms.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            streams: ready.streams,
        })
    }
}

impl TryFrom<pb::RoomState> for RoomState {
    type Error = DecodeError;

    fn try_from(room: pb::RoomState) -> Result<Self, DecodeError> {
        Ok(Self {
            id: id("rooms.id", &room.id)?,
            kind: room.kind,
            name: room.name,
            head: room.head,
            floor: room.floor,
            last_read: room.last_read,
            muted: room.muted,
            stream: room.stream,
        })
    }
}
