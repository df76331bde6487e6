//! Telling what was written: this node from memory, the others by a notification.

use std::sync::Arc;

use domain::{AuthSessionId, DeviceId, Event, RoomId, UserId};
use protocol::notify::Kind;
use realtime::{Announce, Hub, Path};
use store::sessions::EndedSession;

/// Tells this node's hub and the other nodes. Nothing here blocks, and nothing here decides whether an
/// event arrives: what is not told is found by the sweep.
#[derive(Clone)]
pub struct Announcer {
    hub: Arc<Hub>,
    others: Arc<dyn Announce>,
}

impl Announcer {
    /// Tells `hub`, and `others`.
    #[must_use]
    pub fn new(hub: Arc<Hub>, others: Arc<dyn Announce>) -> Self {
        Self { hub, others }
    }

    /// The hub of this node.
    #[must_use]
    pub const fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Events that were committed, in the order of commit.
    pub fn events(&self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.others.announce(Kind::Stream, event.stream.id.into(), Some(event.seq));
            self.hub.publish(event, Path::Local);
        }
    }

    /// A sign-in that was ended: its connections close everywhere.
    pub fn session_ended(&self, ended: &EndedSession) {
        self.sign_in_ended(ended.session);
        self.events(ended.event.clone());
    }

    /// A sign-in, or a token of an agent, is good for nothing any more: what came by it closes everywhere.
    pub fn sign_in_ended(&self, session: AuthSessionId) {
        self.hub.revoke(session.0);
        self.others.announce(Kind::SessionRevoked, session.0.into(), None);
    }

    /// A device's slot stands at `epoch`: whoever holds a lower one loses it.
    pub fn device_fenced(&self, device: DeviceId, epoch: u64) {
        self.hub.fence_device(device, epoch);
        self.others.announce(Kind::DeviceSession, device.0.into(), Some(epoch));
    }

    /// Somebody types in a room.
    pub fn typing(&self, room: RoomId, user: UserId) {
        self.hub.typing(room, user);
        self.others.announce(Kind::Typing, (room.0, user.0).into(), None);
    }
}
