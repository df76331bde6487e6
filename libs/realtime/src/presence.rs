//! How agents are seen: told to those who share a room with them.
//!
//! The store computes it and numbers each change. A node keeps the newest number it has told of each agent, so that what comes
//! twice, late or never is told once, and at the latest by the sweep.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use domain::AgentId;
use parking_lot::Mutex;
use protocol::ServerFrame;
use protocol::frame::{Presence, PresenceStatus, Subject};
use store::consumers::{AgentPresence, AgentStatus};
use tokio::sync::Notify;

use crate::encoded::Encoded;

/// The agents that connections of this node see.
#[derive(Default)]
pub struct AgentsSeen {
    told: Mutex<HashMap<AgentId, u64>>,
    dirty: Mutex<HashSet<AgentId>>,
    pub(crate) wake: Notify,
}

impl AgentsSeen {
    /// How an agent is seen may have changed: looks it up.
    pub fn touch(&self, agent: AgentId) {
        self.dirty.lock().insert(agent);
        self.wake.notify_one();
    }

    /// Looks up every agent that is known here.
    pub(crate) fn touch_all(&self) {
        let all: Vec<AgentId> = self.told.lock().keys().copied().collect();
        if !all.is_empty() {
            self.dirty.lock().extend(all);
            self.wake.notify_one();
        }
    }

    /// Takes what is to be looked up, at most `max`.
    pub(crate) fn take_dirty(&self, max: usize) -> Vec<AgentId> {
        let mut dirty = self.dirty.lock();
        let taken: Vec<AgentId> = dirty.iter().copied().take(max).collect();
        for agent in &taken {
            dirty.remove(agent);
        }
        taken
    }

    /// Puts back what could not be looked up.
    pub(crate) fn put_back(&self, agents: &[AgentId]) {
        self.dirty.lock().extend(agents);
        self.wake.notify_one();
    }

    /// Somebody here sees this agent: the sweep looks it up from now on. Others may still have to be told what one
    /// connection was given.
    pub(crate) fn see(&self, agent: AgentId) {
        self.told.lock().entry(agent).or_insert(0);
    }

    /// Notes that this was told here. False when it, or something newer, was told before.
    pub(crate) fn is_news(&self, presence: &AgentPresence) -> bool {
        let mut told = self.told.lock();
        let known = told.entry(presence.agent).or_insert(0);
        let news = presence.version > *known;
        *known = presence.version.max(*known);
        news
    }
}

/// The frame that says so.
pub(crate) fn frame(presence: &AgentPresence) -> Arc<Encoded> {
    Encoded::frame(ServerFrame::Presence(Presence {
        subject: Subject::Agent(presence.agent.0),
        status: match presence.status {
            AgentStatus::Online => PresenceStatus::Online,
            AgentStatus::Busy => PresenceStatus::Busy,
            AgentStatus::Offline => PresenceStatus::Offline,
        },
        version: presence.version,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_connection_was_given_is_told_to_the_others_once() {
        let seen = AgentsSeen::default();
        let presence = AgentPresence { agent: AgentId::new(), status: AgentStatus::Online, version: 7 };
        // A connection that begins reads it before the relay does.
        seen.see(presence.agent);
        assert!(seen.is_news(&presence), "the others were told nothing");
        seen.see(presence.agent);
        assert!(!seen.is_news(&presence));
        assert!(!seen.is_news(&AgentPresence { version: 6, ..presence }), "old news");
        seen.touch_all();
        assert_eq!(seen.take_dirty(10), [presence.agent]);
    }
}
