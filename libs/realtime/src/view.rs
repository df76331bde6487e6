//! Who is where, for those who decide by it: whether to hint, to push, or to wait.
//!
//! One trait, two ways to know. [`TableView`] reads the rows that all nodes write. [`MemoryView`] asks the hub of the one process that there is
//! (mode single). Both answer the same to the same: of several connections of one device the newest counts, and a person without
//! connections is only said to be away once that can be believed (`settles_in`).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::{DeviceId, DeviceKind, LivePresence, UserId};
use protocol::CloseCode;
pub use store::presence::Seen;
use store::{Store, StoreError};
use tokio::time::Instant;

use crate::connection::{Connection, Hold};
use crate::hub::Hub;

/// Who of some people is where.
#[async_trait]
pub trait PresenceView: Send + Sync {
    /// The live connections of these people on all nodes. People without any are left out.
    ///
    /// # Errors
    ///
    /// When the store does not answer: nothing is known then.
    async fn of(&self, people: &[UserId]) -> Result<Seen, StoreError>;
}

/// The view over the rows of all nodes.
pub struct TableView {
    store: Arc<dyn Store>,
    ttl: Duration,
}

impl TableView {
    /// A view that believes rows of at most this age (`cluster.presence_ttl`).
    #[must_use]
    pub fn new(store: Arc<dyn Store>, ttl: Duration) -> Self {
        Self { store, ttl }
    }
}

#[async_trait]
impl PresenceView for TableView {
    async fn of(&self, people: &[UserId]) -> Result<Seen, StoreError> {
        self.store.live_people(people, self.ttl).await
    }
}

/// The view of a process that has every connection itself.
pub struct MemoryView {
    hub: Arc<Hub>,
    resume_window: Duration,
    begun: Instant,
}

impl MemoryView {
    /// A view over a hub that begins empty now: clients of the process before are given `resume_window` (`sync.resume_window`) to come back.
    #[must_use]
    pub fn new(hub: Arc<Hub>, resume_window: Duration) -> Self {
        Self { hub, resume_window, begun: Instant::now() }
    }

    /// How long until it can be believed that who has no connection is away. Clients that were sent away come back, as those of the process
    /// before do.
    #[must_use]
    pub fn settles_in(&self) -> Option<Duration> {
        let since = self.hub.sent_away_at().map_or(self.begun, |sent_away| sent_away.max(self.begun));
        let left = self.resume_window.saturating_sub(since.elapsed());
        (!left.is_zero()).then_some(left)
    }

    /// Everybody who is here.
    #[must_use]
    pub fn everybody(&self) -> HashMap<UserId, Vec<LivePresence>> {
        let mut everybody: HashMap<UserId, Vec<Arc<Connection>>> = HashMap::new();
        for connection in self.hub.connections() {
            if let Some(user) = connection.meta.user() {
                everybody.entry(user).or_default().push(connection);
            }
        }
        let newest = |(user, connections): (_, Vec<_>)| (user, newest(&connections));
        everybody.into_iter().map(newest).filter(|(_, live)| !live.is_empty()).collect()
    }
}

#[async_trait]
impl PresenceView for MemoryView {
    async fn of(&self, people: &[UserId]) -> Result<Seen, StoreError> {
        let live = |user: &UserId| (*user, newest(&self.hub.connections_of(*user)));
        let people = people.iter().map(live).filter(|(_, live)| !live.is_empty()).collect();
        Ok(Seen { people, settles_in: self.settles_in() })
    }
}

/// Where a connection of a person is; none while it is not live yet, and once it is closed for good. One that is sent away comes back.
#[must_use]
pub fn presence(connection: &Connection) -> Option<LivePresence> {
    let focus = connection.focus();
    let stays = matches!(connection.outbox.closing(), None | Some(CloseCode::NodeDrains));
    (stays && connection.is_live()).then(|| LivePresence {
        connection: connection.meta.id,
        device: device(connection).map(|(device, _)| device),
        kind: kind(connection),
        idle: focus.idle,
        focus: focus.room,
    })
}

/// The device that a connection is of, with the epoch of its slot.
#[must_use]
pub fn device(connection: &Connection) -> Option<(DeviceId, u64)> {
    match connection.hold {
        Hold::Device(slot) => Some((slot.device, slot.epoch)),
        Hold::Nothing | Hold::Consumer(_) => None,
    }
}

/// What a person's connection comes from. What names no device is a page: others hold a slot.
#[must_use]
pub const fn kind(connection: &Connection) -> DeviceKind {
    match connection.hold {
        Hold::Device(slot) => slot.kind,
        Hold::Nothing | Hold::Consumer(_) => DeviceKind::Web,
    }
}

/// Of the connections of one person those that count: the newest live one of each device, by the epoch of its slot.
fn newest(connections: &[Arc<Connection>]) -> Vec<LivePresence> {
    let mut devices: HashMap<DeviceId, (u64, LivePresence)> = HashMap::new();
    let mut others = Vec::new();
    for connection in connections {
        let Some(live) = presence(connection) else { continue };
        match device(connection) {
            None => others.push(live),
            Some((device, epoch)) => {
                let known = devices.entry(device).or_insert((epoch, live));
                if epoch > known.0 {
                    *known = (epoch, live);
                }
            }
        }
    }
    others.extend(devices.into_values().map(|(_, live)| live));
    others
}
