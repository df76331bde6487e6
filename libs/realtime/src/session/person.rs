//! People: a connection follows their rooms and their own stream.
//!
//! The own stream is followed last. Whatever changes membership is an event of it, so when this node has
//! seen no more of it than the snapshot had, no change was missed; else the snapshot is read again.
//! From then on the hub applies every change.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::{SlotSessionId, StreamRef, UserId};
use protocol::frame::{Account, Ready, RoomState};
use protocol::notify::Kind;
use protocol::{CloseCode, ServerFrame};
use store::StoreError;
use store::devices::{Slot, SlotOutcome, Standing, TakeSlot};
use store::log::{RoomSummary, Snapshot};

use super::{Begin, Opened, Opening, SNAPSHOTS, SessionError, Sessions};
use crate::catchup::gap;
use crate::connection::{Connection, ConnectionMeta, Hold};
use crate::encoded::Encoded;

impl Sessions {
    pub(super) async fn open_person(
        &self,
        meta: ConnectionMeta,
        user: UserId,
        opening: &Opening,
    ) -> Result<Opened, SessionError> {
        let slot = self.take_slot(&meta, user, &opening.begin).await?;
        if let Some(slot) = slot {
            self.announce.announce(Kind::DeviceSession, slot.device.0.into(), Some(slot.epoch));
        }
        let hold = slot.map_or(Hold::Nothing, Hold::Device);
        for _ in 0..SNAPSHOTS {
            let following = self.register(meta, hold);
            let standing = self.store.standing(meta.session, hold.session());
            let (greeting, standing) =
                tokio::try_join!(self.follow(&following.connection, user, opening), async {
                    Ok(standing.await?)
                })?;
            if let Some(greeting) = greeting {
                let ended = match standing {
                    Standing::Good => None,
                    Standing::SignedOut => Some(CloseCode::SignInEnded),
                    Standing::Replaced => Some(CloseCode::DeviceReplaced),
                };
                return Ok(following.through(greeting, ended));
            }
        }
        Err(StoreError::Unavailable("rooms change faster than they can be read".into()).into())
    }

    async fn take_slot(
        &self,
        meta: &ConnectionMeta,
        user: UserId,
        begin: &Begin,
    ) -> Result<Option<Slot>, SessionError> {
        let (device, resumes) = match begin {
            Begin::Unslotted => return Ok(None),
            Begin::Consumer(_) => return Err(SessionError::OtherKind),
            Begin::Device(device) => (*device, None),
            Begin::Resume(held) => {
                let device = self.store.slot_device(user, *held).await?;
                (device.ok_or(SessionError::NotResumable)?, Some(*held))
            }
        };
        let session = SlotSessionId::new();
        let attempt = TakeSlot { user, device, connection: meta.id, session, resumes, node: self.node };
        match self.store.take_slot(&attempt).await? {
            SlotOutcome::Taken(slot) => Ok(Some(slot)),
            SlotOutcome::NotResumable => Err(SessionError::NotResumable),
            SlotOutcome::UnknownDevice => Err(SessionError::UnknownDevice),
        }
    }

    /// Follows all that the person should, and builds the greeting. None when memberships changed
    /// between reading and following.
    async fn follow(
        &self,
        connection: &Arc<Connection>,
        user: UserId,
        opening: &Opening,
    ) -> Result<Option<Vec<Arc<Encoded>>>, SessionError> {
        let snapshot = self.store.snapshot(user).await?.ok_or(SessionError::Disabled)?;
        let mut gaps = Vec::new();
        let mut follow = |stream: StreamRef, head: u64, floor: u64| {
            let position = position(&snapshot, opening, stream, head, floor);
            if position.gap {
                gaps.push(gap(stream, floor, head));
            }
            self.hub.subscribe(connection, stream, position.last, head)
        };
        for room in &snapshot.rooms {
            follow(room.id.into(), room.head, room.floor);
        }
        let (head, floor) = snapshot.inbox;
        let seen = follow(snapshot.user.id.into(), head, floor);
        Ok((seen <= head).then(|| {
            let ready = Encoded::frame(ServerFrame::Ready(Box::new(ready(connection, snapshot))));
            std::iter::once(ready).chain(gaps).collect()
        }))
    }
}

/// Where delivery of a stream begins.
struct Position {
    last: u64,
    gap: bool,
}

fn position(snapshot: &Snapshot, opening: &Opening, stream: StreamRef, head: u64, floor: u64) -> Position {
    let same_log = opening.log_epoch.is_none_or(|epoch| epoch == snapshot.log_epoch);
    match opening.cursors.get(&stream.to_string()) {
        Some(cursor) if same_log && (floor..=head).contains(&cursor) => Position { last: cursor, gap: false },
        cursor => Position { last: head, gap: cursor.is_some() },
    }
}

fn ready(connection: &Connection, snapshot: Snapshot) -> Ready {
    let rooms = room_states(snapshot.rooms);
    let mut streams: BTreeMap<String, u64> =
        rooms.iter().map(|room| (room.stream.clone(), room.head)).collect();
    streams.insert(StreamRef::from(snapshot.user.id).to_string(), snapshot.inbox.0);
    Ready {
        // Without a slot there is nothing to resume; the id only names this connection.
        session_id: connection.hold.session().map_or(connection.meta.id.0, |session| session.0),
        epoch: connection.hold.place().map_or(0, |(_, epoch)| epoch),
        log_epoch: snapshot.log_epoch.0,
        account: Account::User(protocol::frame::User {
            id: snapshot.user.id.0,
            handle: snapshot.user.handle,
            display_name: snapshot.user.display_name,
            role: snapshot.user.role.as_str().into(),
        }),
        rooms,
        streams,
    }
}

pub(super) fn room_states(rooms: Vec<RoomSummary>) -> Vec<RoomState> {
    let state = |room: RoomSummary| RoomState {
        id: room.id.0,
        kind: room.kind.as_str().into(),
        name: room.name,
        head: room.head,
        floor: room.floor,
        last_read: room.last_read,
        muted: room.muted,
        stream: StreamRef::from(room.id).to_string(),
    };
    rooms.into_iter().map(state).collect()
}
