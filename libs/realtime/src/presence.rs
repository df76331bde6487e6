//! How agents and people are seen: told to those who share a room with them.
//!
//! The store computes it and numbers each change. A node keeps the newest number it has told of each, so that what comes
//! twice, late or never is told once, and at the latest by the sweep.
//!
//! No connection is told something older after something newer. Whoever tells ([`crate::relay`]) reads and tells while nobody else reads, and a
//! connection that begins reads and queues what it read while nobody tells: so the order of the reads is the order in its outbox.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use domain::PersonStatus;
use parking_lot::Mutex;
use protocol::ServerFrame;
use protocol::frame::{Presence, PresenceStatus, Subject};
use store::consumers::{AgentPresence, AgentStatus};
use store::presence::PersonPresence;
use tokio::sync::{Notify, RwLock};

use crate::encoded::Encoded;

/// What connections of this node were told of somebody.
pub struct Told<Id> {
    told: Mutex<HashMap<Id, u64>>,
    dirty: Mutex<HashSet<Id>>,
    pub(crate) wake: Notify,
    /// Written by who reads and tells all, read by who reads for one connection.
    pub(crate) telling: RwLock<()>,
}

impl<Id> Default for Told<Id> {
    fn default() -> Self {
        Self {
            told: Mutex::default(),
            dirty: Mutex::default(),
            wake: Notify::new(),
            telling: RwLock::new(()),
        }
    }
}

impl<Id: Copy + Eq + Hash> Told<Id> {
    /// How somebody is seen may have changed: looks it up.
    pub fn touch(&self, id: Id) {
        self.dirty.lock().insert(id);
        self.wake.notify_one();
    }

    /// Looks up everybody who is known here.
    pub(crate) fn touch_all(&self) {
        let all: Vec<Id> = self.told.lock().keys().copied().collect();
        if !all.is_empty() {
            self.dirty.lock().extend(all);
            self.wake.notify_one();
        }
    }

    /// Takes what is to be looked up, at most `max`.
    pub(crate) fn take_dirty(&self, max: usize) -> Vec<Id> {
        let mut dirty = self.dirty.lock();
        let taken: Vec<Id> = dirty.iter().copied().take(max).collect();
        for id in &taken {
            dirty.remove(id);
        }
        taken
    }

    /// Puts back what could not be looked up.
    pub(crate) fn put_back(&self, ids: &[Id]) {
        self.dirty.lock().extend(ids);
        self.wake.notify_one();
    }

    /// Somebody here sees this one: the sweep looks them up from now on. Others may still have to be told what one
    /// connection was given.
    pub(crate) fn see(&self, id: Id) {
        self.told.lock().entry(id).or_insert(0);
    }

    /// Whether this was not told here yet, nor anything newer.
    pub(crate) fn is_news(&self, id: Id, version: u64) -> bool {
        version > self.told.lock().get(&id).copied().unwrap_or(0)
    }

    /// Notes that this is told.
    pub(crate) fn note(&self, id: Id, version: u64) {
        let mut told = self.told.lock();
        let known = told.entry(id).or_insert(0);
        *known = version.max(*known);
    }
}

/// The frame that says how an agent is seen.
pub(crate) fn agent_frame(presence: &AgentPresence) -> Arc<Encoded> {
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

/// The frame that says how a person is seen.
pub(crate) fn person_frame(presence: &PersonPresence) -> Arc<Encoded> {
    Encoded::frame(ServerFrame::Presence(Presence {
        subject: Subject::User(presence.user.0),
        status: match presence.status {
            PersonStatus::Online => PresenceStatus::Online,
            PersonStatus::Idle => PresenceStatus::Idle,
            PersonStatus::Offline => PresenceStatus::Offline,
        },
        version: presence.version,
    }))
}

#[cfg(test)]
mod tests {
    use domain::AgentId;

    use super::*;

    #[test]
    fn what_one_connection_was_given_is_told_to_the_others_once() {
        let (told, agent) = (Told::default(), AgentId::new());
        // A connection that begins reads it before the relay does.
        told.see(agent);
        assert!(told.is_news(agent, 7), "the others were told nothing");
        told.note(agent, 7);
        told.see(agent);
        assert!(!told.is_news(agent, 7));
        told.note(agent, 6);
        assert!(!told.is_news(agent, 7), "old news");
        told.touch_all();
        assert_eq!(told.take_dirty(10), [agent]);
    }
}
