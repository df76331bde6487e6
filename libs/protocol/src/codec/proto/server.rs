//! Server frames to and from protobuf.

use super::pb::server_frame::Frame;
use super::{id, optional_id, pb};
use crate::codec::DecodeError;
use crate::frame::{
    Drain, ErrorFrame, Event, Gap, Hello, Presence, PresenceStatus, RawJson, Ready, RoomState, Sender, Sent,
    ServerFrame, Subject, User, UserTyping,
};

impl From<&ServerFrame> for Frame {
    fn from(frame: &ServerFrame) -> Self {
        match frame {
            ServerFrame::Hello(hello) => Self::Hello(pb::Hello {
                heartbeat_interval_ms: hello.heartbeat_interval_ms,
                node: hello.node.to_string(),
                connection_id: hello.connection_id.to_string(),
                reconnect_jitter_ms: hello.reconnect_jitter_ms,
            }),
            ServerFrame::Ready(ready) => Self::Ready(ready.as_ref().into()),
            ServerFrame::Event(event) => Self::Event(event.into()),
            ServerFrame::Live => Self::Live(pb::Live {}),
            ServerFrame::Gap(gap) => {
                Self::Gap(pb::Gap { stream: gap.stream.clone(), floor: gap.floor, head: gap.head })
            }
            ServerFrame::Typing(typing) => Self::Typing(pb::ServerTyping {
                room_id: typing.room_id.to_string(),
                user_id: typing.user_id.to_string(),
            }),
            ServerFrame::Presence(presence) => Self::Presence(presence.into()),
            ServerFrame::Sent(sent) => {
                Self::Sent(pb::Sent { nonce: sent.nonce.clone(), seq: sent.seq, id: sent.id.to_string() })
            }
            ServerFrame::Pong => Self::Pong(pb::Pong {}),
            ServerFrame::Error(error) => Self::Error(pb::Error {
                code: error.code.clone(),
                detail: error.detail.clone(),
                nonce: error.nonce.clone(),
            }),
            ServerFrame::Drain(drain) => Self::Drain(pb::Drain { after_ms: drain.after_ms }),
        }
    }
}

impl From<&Ready> for pb::Ready {
    fn from(ready: &Ready) -> Self {
        Self {
            session_id: ready.session_id.to_string(),
            epoch: ready.epoch,
            log_epoch: ready.log_epoch.to_string(),
            user: Some(pb::User {
                id: ready.user.id.to_string(),
                handle: ready.user.handle.clone(),
                display_name: ready.user.display_name.clone(),
                role: ready.user.role.clone(),
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

impl From<&Event> for pb::Event {
    fn from(event: &Event) -> Self {
        Self {
            stream: event.stream.clone(),
            seq: event.seq,
            id: event.id.to_string(),
            kind: event.kind.clone(),
            at: event.at.clone(),
            sender: Some(pb::Sender {
                kind: event.sender.kind.clone(),
                id: event.sender.id.map(|id| id.to_string()),
            }),
            data: event.data.get().to_owned(),
        }
    }
}

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

impl TryFrom<Frame> for ServerFrame {
    type Error = DecodeError;

    fn try_from(frame: Frame) -> Result<Self, DecodeError> {
        match frame {
            Frame::Hello(hello) => Hello::try_from(hello).map(Self::Hello).map_err(in_op("hello")),
            Frame::Ready(ready) => {
                Ready::try_from(ready).map(Box::new).map(Self::Ready).map_err(in_op("ready"))
            }
            Frame::Event(event) => Event::try_from(event).map(Self::Event).map_err(in_op("event")),
            Frame::Live(pb::Live {}) => Ok(Self::Live),
            Frame::Gap(pb::Gap { stream, floor, head }) => Ok(Self::Gap(Gap { stream, floor, head })),
            Frame::Typing(typing) => UserTyping::try_from(typing).map(Self::Typing).map_err(in_op("typing")),
            Frame::Presence(presence) => {
                Presence::try_from(presence).map(Self::Presence).map_err(in_op("presence"))
            }
            Frame::Sent(sent) => Sent::try_from(sent).map(Self::Sent).map_err(in_op("sent")),
            Frame::Pong(pb::Pong {}) => Ok(Self::Pong),
            Frame::Error(pb::Error { code, detail, nonce }) => {
                Ok(Self::Error(ErrorFrame { code, detail, nonce }))
            }
            Frame::Drain(pb::Drain { after_ms }) => Ok(Self::Drain(Drain { after_ms })),
        }
    }
}

fn in_op(op: &'static str) -> impl Fn(DecodeError) -> DecodeError {
    move |error| error.in_op(op)
}

impl TryFrom<pb::Hello> for Hello {
    type Error = DecodeError;

    fn try_from(hello: pb::Hello) -> Result<Self, DecodeError> {
        Ok(Self {
            heartbeat_interval_ms: hello.heartbeat_interval_ms,
            node: id("node", &hello.node)?,
            connection_id: id("connection_id", &hello.connection_id)?,
            reconnect_jitter_ms: hello.reconnect_jitter_ms,
        })
    }
}

impl TryFrom<pb::Ready> for Ready {
    type Error = DecodeError;

    fn try_from(ready: pb::Ready) -> Result<Self, DecodeError> {
        let user = ready.user.ok_or_else(|| DecodeError::field("user", "is missing"))?;
        Ok(Self {
            session_id: id("session_id", &ready.session_id)?,
            epoch: ready.epoch,
            log_epoch: id("log_epoch", &ready.log_epoch)?,
            user: User {
                id: id("user.id", &user.id)?,
                handle: user.handle,
                display_name: user.display_name,
                role: user.role,
            },
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

impl TryFrom<pb::Event> for Event {
    type Error = DecodeError;

    fn try_from(event: pb::Event) -> Result<Self, DecodeError> {
        let sender = event.sender.ok_or_else(|| DecodeError::field("sender", "is missing"))?;
        Ok(Self {
            stream: event.stream,
            seq: event.seq,
            id: id("id", &event.id)?,
            kind: event.kind,
            at: event.at,
            sender: Sender { kind: sender.kind, id: optional_id("sender.id", sender.id.as_ref())? },
            data: RawJson::new(event.data).map_err(|error| DecodeError::field("data", error))?,
        })
    }
}

impl TryFrom<pb::ServerTyping> for UserTyping {
    type Error = DecodeError;

    fn try_from(typing: pb::ServerTyping) -> Result<Self, DecodeError> {
        Ok(Self { room_id: id("room_id", &typing.room_id)?, user_id: id("user_id", &typing.user_id)? })
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

impl TryFrom<pb::Sent> for Sent {
    type Error = DecodeError;

    fn try_from(sent: pb::Sent) -> Result<Self, DecodeError> {
        Ok(Self { nonce: sent.nonce, seq: sent.seq, id: id("id", &sent.id)? })
    }
}
