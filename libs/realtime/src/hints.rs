//! Hints: a desktop in use says that there is something its person should know of.
//!
//! Whoever decides on notifications says which are to be hinted at. Every node hears of it and looks them up; those whose person has a
//! desktop or a browser in use here are noted in the store and then shown, once a screen: the note decides between nodes and
//! between repeats. What this node knows of its own connections is newer than what was decided by, so it has the last word:
//! nobody who has fallen idle or looks at the room meanwhile is told.
//!
//! | failure | then |
//! |---|---|
//! | the word of it is lost | the sweep asks for what was decided in the last minute and shown by nobody |
//! | it comes twice, or to several nodes | the note is there already: nothing is shown |
//! | this node dies between note and screen | no hint; the push that waits is sent when its connections are gone |

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use domain::notification::Headline;
use domain::{DeviceKind, NodeId, NotificationId, UserId};
use parking_lot::Mutex;
use protocol::ServerFrame;
use protocol::frame::Hint;
use store::notifications::Notification;
use store::{Store, StoreError};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::connection::{Connection, Hold};
use crate::encoded::Encoded;
use crate::hub::Hub;
use crate::relay::Trouble;

/// Notifications of one query.
const AT_ONCE: usize = 500;
/// Ids that are remembered; more are left to the sweep.
const MOST: usize = 50_000;
/// For how long a hint that nobody has shown is still worth it.
const FRESH: Duration = Duration::from_secs(60);

/// Notifications that are to be hinted at, if their person is here.
#[derive(Default)]
pub struct Hints {
    due: Mutex<HashSet<NotificationId>>,
    wake: Notify,
}

impl Hints {
    /// A notification is to be hinted at.
    pub fn touch(&self, notification: NotificationId) {
        let mut due = self.due.lock();
        if due.len() < MOST {
            due.insert(notification);
        }
        drop(due);
        self.wake.notify_one();
    }

    fn take(&self) -> Vec<NotificationId> {
        let mut due = self.due.lock();
        let taken: Vec<NotificationId> = due.iter().copied().take(AT_ONCE).collect();
        for notification in &taken {
            due.remove(notification);
        }
        taken
    }
}

/// Shows hints on the connections of a node.
pub struct HintTask {
    hub: Arc<Hub>,
    store: Arc<dyn Store>,
    node: NodeId,
}

impl HintTask {
    /// For the connections of a hub, on a node.
    #[must_use]
    pub const fn new(hub: Arc<Hub>, store: Arc<dyn Store>, node: NodeId) -> Self {
        Self { hub, store, node }
    }

    /// Shows what is to be shown, until the token is cancelled; every `sweep` also what nobody has shown.
    pub async fn run(self, sweep: Duration, stop: CancellationToken) {
        let mut trouble = Trouble::default();
        loop {
            tokio::select! {
                () = self.hub.hints().wake.notified() => {}
                () = tokio::time::sleep(sweep) => self.look_for_missed().await,
                () = stop.cancelled() => return,
            }
            loop {
                let due = self.hub.hints().take();
                if due.is_empty() {
                    break;
                }
                if let Err(error) = self.show(&due).await {
                    tracing::warn!(%error, hints = due.len(), "can't read notifications to hint at; trying again");
                    due.into_iter().for_each(|notification| self.hub.hints().touch(notification));
                    if trouble.wait(&stop).await {
                        return;
                    }
                } else {
                    trouble = Trouble::default();
                }
            }
        }
    }

    async fn look_for_missed(&self) {
        if !self.hub.has_people() {
            return;
        }
        match self.store.missed_hints(FRESH, u32::try_from(MOST).unwrap_or(u32::MAX)).await {
            Ok(missed) => missed
                .into_iter()
                .filter(|(_, user)| !self.hub.connections_of(*user).is_empty())
                .for_each(|(notification, _)| self.hub.hints().touch(notification)),
            Err(error) => tracing::debug!(%error, "can't look for hints that were missed"),
        }
    }

    async fn show(&self, due: &[NotificationId]) -> Result<(), StoreError> {
        if !self.hub.has_people() {
            return Ok(());
        }
        let notifications = self.store.hints(due).await?;
        let mut wanted: Vec<(&Notification, Uuid, Arc<Connection>)> = Vec::new();
        for notification in &notifications {
            for connection in screens(&self.hub, notification) {
                wanted.push((notification, screen(&connection), connection));
            }
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = wanted.iter().map(|(notification, screen, _)| (notification.id, *screen)).collect();
        let noted: HashSet<_> = self.store.note_hints(self.node, &ids).await?.into_iter().collect();
        for (notification, screen, connection) in wanted {
            if noted.contains(&(notification.id, screen)) {
                connection.outbox.push_ephemeral(&frame(notification));
            }
        }
        Ok(())
    }
}

/// The connections here on which a notification is shown: of desktops and browsers in use, unless the person looks at the room.
fn screens(hub: &Hub, notification: &Notification) -> Vec<Arc<Connection>> {
    let user: UserId = notification.user;
    let mut connections = hub.connections_of(user);
    connections.retain(|connection| !connection.focus().idle && connection.outbox.closing().is_none());
    let room = Some(notification.facts.room);
    if connections.iter().any(|connection| connection.focus().room == room) {
        return Vec::new();
    }
    connections.retain(|connection| match connection.hold {
        Hold::Device(slot) => matches!(slot.kind, DeviceKind::Desktop | DeviceKind::Web),
        Hold::Nothing => true,
        Hold::Consumer(_) => false,
    });
    connections
}

/// What stands for a screen: its device, or the connection that named none.
fn screen(connection: &Connection) -> Uuid {
    match connection.hold {
        Hold::Device(slot) => slot.device.0,
        Hold::Nothing | Hold::Consumer(_) => connection.meta.id.0,
    }
}

fn frame(notification: &Notification) -> Arc<Encoded> {
    let Headline { title, body } = notification.headline(true);
    Encoded::frame(ServerFrame::Hint(Hint {
        notification_id: notification.id.0,
        room_id: notification.facts.room.0,
        seq: notification.seq,
        title,
        body,
    }))
}
