//! Telling what was written: this node from memory, the others by a notification.

use std::sync::Arc;

use domain::{AuthSessionId, DeviceId, Event, RequestId, RoomId, RunId, ToolCallId, UserId};
use protocol::notify::Kind;
use realtime::livebox::Flushed;
use realtime::{Announce, Hub, pass_on};
use store::consumers::AgentPresence;
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
        pass_on(&self.hub, &*self.others, events);
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
        self.hub.fence(device.0, epoch);
        self.others.announce(Kind::DeviceSession, device.0.into(), Some(epoch));
    }

    /// A flush of a run that is worked on here.
    pub(crate) fn run_flushed(&self, flushed: &Flushed<'_>) {
        self.hub.run_flushed(flushed);
        self.others.announce(Kind::RunUpdated, flushed.run.0.into(), Some(flushed.version));
    }

    /// A run stands differently, its document at `version`.
    pub(crate) fn run_updated(&self, run: RunId, version: u64) {
        self.hub.boxes().touch(run);
        self.others.announce(Kind::RunUpdated, run.0.into(), Some(version));
    }

    /// A run stands differently, whatever its version.
    pub(crate) fn run_touched(&self, run: RunId) {
        self.hub.boxes().touch(run);
        self.others.announce(Kind::RunUpdated, run.0.into(), None);
    }

    /// A call is no longer pending.
    pub(crate) fn tool_result(&self, call: ToolCallId) {
        self.others.announce(Kind::ToolResult, call.0.into(), None);
    }

    /// An agent is asked for a completion.
    pub(crate) fn asked(&self, request: RequestId) {
        self.others.announce(Kind::AutocompleteRequested, request.0.into(), None);
    }

    /// An agent has completed.
    pub(crate) fn answered(&self, request: RequestId) {
        self.others.announce(Kind::AutocompleteAnswered, request.0.into(), None);
    }

    /// An agent is seen differently.
    pub(crate) fn agent_seen(&self, seen: &AgentPresence) {
        self.hub.agents().touch(seen.agent);
        self.others.announce(Kind::AgentPresence, seen.agent.0.into(), Some(seen.version));
    }

    /// Somebody types in a room.
    pub fn typing(&self, room: RoomId, user: UserId) {
        self.hub.typing(room, user);
        self.others.announce(Kind::Typing, (room.0, user.0).into(), None);
    }
}
