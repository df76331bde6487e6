//! From a sign-in to a connection that follows everything it should.
//!
//! ```text
//!   take the place -> tell the others -> be found by what they say -> read state and positions in one snapshot
//!     -> follow the streams -> is all of that still true? -> ready
//! ```
//!
//! A place that was taken by somebody else, or a sign-in that was ended, before this node would close the
//! connection for it is found by asking once that is so.
//!
//! [`person`] follows rooms and the own stream, [`agent`] the stream of an agent from where its consumer acknowledged it.

mod agent;
mod person;

use std::sync::Arc;
use std::time::Duration;

use domain::{DeviceId, ErrorCode, Event, LogEpoch, NodeId, Principal, SlotSessionId};
use protocol::CloseCode;
use protocol::frame::Cursors;
use protocol::notify::{Id, Kind};
use store::{Store, StoreError};
use tokio::sync::Semaphore;

use crate::connection::{Connection, ConnectionMeta, Hold};
use crate::encoded::{Encoded, Path};
use crate::hub::Hub;
use crate::outbox::Limits;
use crate::term::{Term, Tokens, Turn};

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

/// Tells this node's hub and the others of events that were committed, in the order of commit.
pub fn pass_on(hub: &Hub, others: &dyn Announce, events: impl IntoIterator<Item = Event>) {
    for event in events {
        others.announce(Kind::Stream, event.stream.id.into(), Some(event.seq));
        hub.publish(event, Path::Local);
    }
}

/// How a session begins.
#[derive(Debug, Clone)]
pub enum Begin {
    /// `identify` with a device: takes its slot.
    Device(DeviceId),
    /// `identify` with a consumer: takes its place.
    Consumer(String),
    /// `resume`: takes the slot or place that this session still holds.
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
    /// A person identified as a consumer, or an agent as a device.
    #[error("a slot of the other kind")]
    OtherKind,
    /// Another connection holds the slot or place by now, or it is gone.
    #[error("the session can't be resumed")]
    NotResumable,
    /// The person is disabled or the agent revoked.
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
            Self::OtherKind => ErrorCode::InvalidField,
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
            Self::OtherKind => "people identify with device_id, agents with consumer".into(),
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
    limits: SessionLimits,
    /// A storm of reconnects must not take every connection to the database.
    permits: Semaphore,
}

/// Bounds of sessions.
#[derive(Debug, Clone, Copy)]
pub struct SessionLimits {
    /// Of each connection's queue.
    pub outbox: Limits,
    /// Sessions that begin at one time.
    pub at_once: usize,
    /// How long a consumer counts as connected, unless the heartbeat says so again.
    pub consumer_live: Duration,
}

/// A database that takes longer counts as away.
const ANSWERS_WITHIN: Duration = Duration::from_secs(1);

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
        limits: SessionLimits,
    ) -> Self {
        Self { hub, store, announce, node, limits, permits: Semaphore::new(limits.at_once.max(1)) }
    }

    /// Begins a session. The connection is followed by the hub from here on; [`Self::close`] ends that.
    ///
    /// # Errors
    ///
    /// See [`SessionError`]; nothing is followed then.
    pub async fn open(&self, meta: ConnectionMeta, opening: &Opening) -> Result<Opened, SessionError> {
        let _permit = self.permits.acquire().await;
        match meta.principal {
            Principal::User(user) => self.open_person(meta, user, opening).await,
            Principal::Agent(agent) => self.open_consumer(meta, agent, opening).await,
        }
    }

    /// What is to be done about the term of a connection, once there is something. Dropped and called again it goes on waiting.
    pub async fn turn(&self, term: &mut Term) -> Turn {
        loop {
            term.due().await;
            // Nothing is awaited between the decision and its return: it would be lost with a future that is dropped.
            let tokens = self.tokens().await;
            if let Some(turn) = term.turn(tokens) {
                return turn;
            }
        }
    }

    /// Newer tokens come from the database.
    async fn tokens(&self) -> Tokens {
        match tokio::time::timeout(ANSWERS_WITHIN, self.store.ping()).await {
            Ok(Ok(())) => Tokens::ToBeHad,
            _ => Tokens::NotToBeHad,
        }
    }

    /// Ends a session on this node. The slot or place stays held, so that it can be resumed anywhere.
    pub fn close(&self, connection: &Connection) {
        self.hub.unregister(connection);
    }

    /// A connection that the hub knows. Whoever gives up before [`Following::through`] (an error, a caller that went away)
    /// does not leave it there.
    fn register(&self, meta: ConnectionMeta, hold: Hold) -> Following<'_> {
        // A fresh one for each try: what was pushed to one that was outrun is forgotten with it.
        let connection = Arc::new(Connection::new(meta, hold, self.limits.outbox, self.hub.behind()));
        self.hub.register(&connection);
        Following { hub: &self.hub, connection, gave_up: true }
    }
}

/// Takes the connection out of the hub again, unless it is told that all went well.
struct Following<'a> {
    hub: &'a Hub,
    connection: Arc<Connection>,
    gave_up: bool,
}

impl Following<'_> {
    /// All went well: the session begins with `greeting`, or ends at once when its place or sign-in is gone by now.
    fn through(mut self, mut greeting: Vec<Arc<Encoded>>, ended: Option<CloseCode>) -> Opened {
        self.gave_up = false;
        match ended {
            // The first look of the feed: replays what lags, then says `live`.
            None => self.connection.outbox.lag(),
            Some(code) => {
                greeting.clear();
                self.connection.outbox.close(code);
            }
        }
        Opened { connection: Arc::clone(&self.connection), greeting }
    }
}

impl Drop for Following<'_> {
    fn drop(&mut self) {
        if self.gave_up {
            self.connection.outbox.close(CloseCode::Internal);
            self.hub.unregister(&self.connection);
        }
    }
}
