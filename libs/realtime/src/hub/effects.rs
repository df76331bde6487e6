//! What an event changes for connections, beside being delivered.

use domain::{AuthSessionId, Event, EventKind, RoomId, StreamKind, UserId};
use serde::Deserialize;

/// A change of who follows what.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Effect {
    /// A person was added to a room: their connections follow it, from `head` on.
    Join { room: RoomId, head: u64 },
    /// A person was removed from a room by its event `seq`, as their own stream says.
    Part { user: UserId, room: RoomId, seq: u64 },
    /// A person left a room, as the room's stream says.
    Leave { user: UserId },
    /// A sign-in was ended.
    End { session: AuthSessionId },
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
    /// None when an agent left: agents do not follow rooms, what concerns them is in their own stream.
    user_id: Option<UserId>,
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
            (EventKind::SessionRevoked, StreamKind::User) => {
                let Revoked { session_id } = parse(event)?;
                Some(Self::End { session: session_id })
            }
            _ => None,
        }
    }
}

fn parse<'de, T: Deserialize<'de>>(event: &'de Event) -> Option<T> {
    serde_json::from_str(&event.data)
        .inspect_err(|error| tracing::error!(%error, event = %event.id, kind = %event.kind, "an event's body is not what its kind says"))
        .ok()
}
