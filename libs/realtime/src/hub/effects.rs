//! What an event changes for connections, beside being delivered.

use domain::{AuthSessionId, Event, EventKind, RoomId, RunId, StreamKind, UserId};
use protocol::frame::ToolCall;
use serde::Deserialize;

/// What an event sets off.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    /// A person was added to a room: their connections follow it, from `head` on.
    Join { room: RoomId, head: u64 },
    /// A person was removed from a room by its event `seq`, as their own stream says.
    Part { user: UserId, room: RoomId, seq: u64 },
    /// A person left a room, as the room's stream says.
    Leave { user: UserId },
    /// A sign-in was ended.
    End { session: AuthSessionId },
    /// A run was made in a room: its document is followed.
    Work { run: RunId, room: RoomId },
    /// A tool in a person's browser is called.
    Call { user: UserId, call: Box<ToolCall> },
}

#[derive(Deserialize)]
struct Added {
    room_id: RoomId,
    head: u64,
}

#[derive(Deserialize)]
struct Removed {
    room_id: RoomId,
    /// Seq of `member.left` in the room.
    seq: u64,
}

#[derive(Deserialize)]
struct Left {
    /// None when an agent left, which follows no room.
    user_id: Option<UserId>,
}

#[derive(Deserialize)]
struct Created {
    run_id: RunId,
}

#[derive(Deserialize)]
struct Revoked {
    session_id: AuthSessionId,
}

impl Effect {
    /// What an event changes. Most change nothing, and are not parsed.
    pub(crate) fn of(event: &Event) -> Option<Self> {
        match (&event.kind, event.stream.kind) {
            (EventKind::RoomAdded, StreamKind::User) => {
                let Added { room_id, head } = parse(event)?;
                Some(Self::Join { room: room_id, head })
            }
            (EventKind::RoomRemoved, StreamKind::User) => {
                let Removed { room_id, seq } = parse(event)?;
                Some(Self::Part { user: UserId(event.stream.id), room: room_id, seq })
            }
            (EventKind::MemberLeft, StreamKind::Room) => {
                let Left { user_id } = parse(event)?;
                Some(Self::Leave { user: user_id? })
            }
            (EventKind::RunCreated, StreamKind::Room) => {
                let Created { run_id } = parse(event)?;
                Some(Self::Work { run: run_id, room: RoomId(event.stream.id) })
            }
            (EventKind::ToolCalled, StreamKind::User) => {
                let call = Box::new(parse(event)?);
                Some(Self::Call { user: UserId(event.stream.id), call })
            }
            (EventKind::SessionRevoked, StreamKind::User) => {
                let Revoked { session_id } = parse(event)?;
                Some(Self::End { session: session_id })
            }
            _ => None,
        }
    }
}

/// The frame that says that a tool is called, if this event does.
pub(crate) fn tool_call(event: &Event) -> Option<ToolCall> {
    (event.kind == EventKind::ToolCalled).then(|| parse(event)).flatten()
}

fn parse<'de, T: Deserialize<'de>>(event: &'de Event) -> Option<T> {
    serde_json::from_str(&event.data)
        .inspect_err(|error| tracing::error!(%error, event = %event.id, kind = %event.kind, "an event's body is not what its kind says"))
        .ok()
}
