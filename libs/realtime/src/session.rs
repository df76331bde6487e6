//! From a sign-in to a connection that follows everything it should.
//!
//! ```text
//!   take the slot -> tell the others -> be found by what they say -> read state and positions in one snapshot
//!     -> follow the rooms -> follow the own stream -> is the snapshot still true? -> ready
//! ```
//!
//! A slot that was taken by somebody else, or a sign-in that was ended, before this node would close the
//! connection for it is found by asking once that is so.
//!
//! The own stream is followed last. Whatever changes membership is an event of it, so when this node has
//! seen no more of it than the snapshot had, no change was missed; else the snapshot is read again.
//! From then on the hub applies every change.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::{DeviceId, ErrorCode, LogEpoch, NodeId, SlotSessionId, StreamRef};
use protocol::frame::{Account, Cursors, Ready, RoomState};
use protocol::notify::{Id, Kind};
use protocol::{CloseCode, ServerFrame};
use store::devices::{Slot, SlotOutcome, Standing, TakeSlot};
use store::log::Snapshot;
use store::{Store, StoreError};
use tokio::sync::Semaphore;

use crate::catchup::gap;
use crate::connection::{Connection, ConnectionMeta};
use crate::encoded::Encoded;
use crate::hub::Hub;
use crate::outbox::Limits;

/// Tells other nodes that something has a new version. In a cluster this is the notifier; one
/// process alone has nobody to tell.
pub trait Announce: Send + Sync + 'static {
    /// Says it; never blocks. May be lost: whoever should know finds out by the sweep.
    fn announce(&self, kind: Kind, id: Id, version: Option<u64>);
}

/// Nobody to tell.
#[derive(Debug, Clone, Copy)]
pub struct Alone;

impl Announce for Alone {
    fn announce(&self, _kind: Kind, _id: Id, _version: Option<u64>) {}
}

impl Announce for cluster::Notifier {
    fn announce(&self, kind: Kind, id: Id, version: Option<u64>) {
        self.notify(kind, id, version);
    }
}

/// How a session begins.
#[derive(Debug, Clone, Copy)]
pub enum Begin {
    /// `identify` with a device: takes its slot.
    Device(DeviceId),
    /// `resume`: takes the slot that this session still holds.
    Resume(SlotSessionId),
    /// A stream without a device: holds no slot.
    Unslotted,
}

/// What `identify` or `resume` says.
#[derive(Debug, Clone)]
pub struct Opening {
    /// How the session begins.
    pub begin: Begin,
    /// The newest seq that the client has of each stream.
    pub cursors: Cursors,
    /// The log epoch that the cursors belong to; none means the present one.
    pub log_epoch: Option<LogEpoch>,
}

/// A session that has begun.
#[derive(Debug)]
pub struct Opened {
    /// The connection, followed by the hub.
    pub connection: Arc<Connection>,
    /// `ready`, and a `gap` for each cursor that can't be served: goes to the socket first.
    pub greeting: Vec<Arc<Encoded>>,
}

/// Why a session did not begin.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SessionError {
    /// The person has no such device.
    #[error("no such device")]
    UnknownDevice,
    /// Another connection holds the device's slot by now, or the device is gone.
    #[error("the session can't be resumed")]
    NotResumable,
    /// The person is disabled or gone.
    #[error("the account is disabled")]
    Disabled,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl SessionError {
    /// The stable name that clients see.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::UnknownDevice => ErrorCode::NotFound,
            Self::NotResumable => ErrorCode::Conflict,
            Self::Disabled => ErrorCode::Disabled,
            Self::Store(error) => error.code(),
        }
    }

    /// What a client may read.
    #[must_use]
    pub fn public_message(&self) -> String {
        match self {
            Self::UnknownDevice => "device_id: you have no such device".into(),
            Self::NotResumable => "this session holds no slot any more; identify again".into(),
            Self::Disabled => "this account is disabled".into(),
            Self::Store(error) => error.public_message(),
        }
    }
}

/// Begins and ends the sessions of a node.
pub struct Sessions {
    hub: Arc<Hub>,
    store: Arc<dyn Store>,
    announce: Arc<dyn Announce>,
    node: NodeId,
    limits: Limits,
    /// A storm of reconnects must not take every connection to the database.
    permits: Semaphore,
}

/// How often a snapshot that was outrun is read again before the connection is sent to try again.
const SNAPSHOTS: usize = 8;

impl Sessions {
    /// Sessions on this node, `at_once` of them beginning at one time.
    #[must_use]
    pub fn new(
        hub: Arc<Hub>,
        store: Arc<dyn Store>,
        announce: Arc<dyn Announce>,
        node: NodeId,
        limits: Limits,
        at_once: usize,
    ) -> Self {
        Self { hub, store, announce, node, limits, permits: Semaphore::new(at_once.max(1)) }
    }

    /// Begins a session. The connection is followed by the hub from here on; [`Self::close`] ends that.
    ///
    /// # Errors
    ///
    /// See [`SessionError`]; nothing is followed then.
    pub async fn open(&self, meta: ConnectionMeta, opening: &Opening) -> Result<Opened, SessionError> {
        let _permit = self.permits.acquire().await;
        let slot = self.take_slot(&meta, opening.begin).await?;
        if let Some(slot) = slot {
            self.announce.announce(Kind::DeviceSession, slot.device.0.into(), Some(slot.epoch));
        }
        for _ in 0..SNAPSHOTS {
            // A fresh one each time: what was pushed to one that was outrun is forgotten with it.
            let connection = Arc::new(Connection::new(meta, slot, self.limits, self.hub.behind()));
            self.hub.register(&connection);
            // Whoever gives up from here on (an error, a caller that went away) must not stay in the hub.
            let mut following = Following { hub: &self.hub, connection: Some(Arc::clone(&connection)) };
            let standing = self.store.standing(meta.session, slot.map(|slot| slot.session));
            let (greeting, standing) =
                tokio::try_join!(self.follow(&connection, opening), async { Ok(standing.await?) })?;
            if let Some(mut greeting) = greeting {
                let ended = match standing {
                    Standing::Good => None,
                    Standing::SignedOut => Some(CloseCode::SignInEnded),
                    Standing::Replaced => Some(CloseCode::DeviceReplaced),
                };
                match ended {
                    // The first look of the feed: replays what lags, then says `live`.
                    None => connection.outbox.lag(),
                    Some(code) => {
                        greeting.clear();
                        connection.outbox.close(code);
                    }
                }
                following.connection = None;
                return Ok(Opened { connection, greeting });
            }
        }
        Err(StoreError::Unavailable("rooms change faster than they can be read".into()).into())
    }

    /// Ends a session on this node. The slot stays held, so that it can be resumed anywhere.
    pub fn close(&self, connection: &Connection) {
        self.hub.unregister(connection);
    }

    async fn take_slot(&self, meta: &ConnectionMeta, begin: Begin) -> Result<Option<Slot>, SessionError> {
        let (device, resumes) = match begin {
            Begin::Unslotted => return Ok(None),
            Begin::Device(device) => (device, None),
            Begin::Resume(held) => {
                let device = self.store.slot_device(meta.user, held).await?;
                (device.ok_or(SessionError::NotResumable)?, Some(held))
            }
        };
        let session = SlotSessionId::new();
        let attempt =
            TakeSlot { user: meta.user, device, connection: meta.id, session, resumes, node: self.node };
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
        opening: &Opening,
    ) -> Result<Option<Vec<Arc<Encoded>>>, SessionError> {
        let snapshot = self.store.snapshot(connection.meta.user).await?.ok_or(SessionError::Disabled)?;
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
    let rooms: Vec<RoomState> = snapshot
        .rooms
        .into_iter()
        .map(|room| RoomState {
            id: room.id.0,
            kind: room.kind.as_str().into(),
            name: room.name,
            head: room.head,
            floor: room.floor,
            last_read: room.last_read,
            muted: room.muted,
            stream: StreamRef::from(room.id).to_string(),
        })
        .collect();
    let mut streams: BTreeMap<String, u64> =
        rooms.iter().map(|room| (room.stream.clone(), room.head)).collect();
    streams.insert(StreamRef::from(snapshot.user.id).to_string(), snapshot.inbox.0);
    Ready {
        // Without a slot there is nothing to resume; the id only names this connection.
        session_id: connection.slot.map_or(connection.meta.id.0, |slot| slot.session.0),
        epoch: connection.slot.map_or(0, |slot| slot.epoch),
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

/// Takes the connection out of the hub again, unless it is told that all went well.
struct Following<'a> {
    hub: &'a Hub,
    connection: Option<Arc<Connection>>,
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            connection.outbox.close(CloseCode::Internal);
            self.hub.unregister(&connection);
        }
    }
}
