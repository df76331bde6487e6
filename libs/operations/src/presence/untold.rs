//! Changes that are still to be told: a bounded number with each flush, of each person only the newest.

use std::collections::{HashMap, VecDeque};

use domain::UserId;
use store::presence::PersonPresence;

use crate::announcer::Announcer;
use crate::presence::PresenceMetrics;

/// People who are to be told of. Bounded by the people of this node.
#[derive(Debug, Default)]
pub(super) struct Untold {
    order: VecDeque<UserId>,
    versions: HashMap<UserId, Option<u64>>,
}

impl Untold {
    /// Changes that were written.
    pub(super) fn add(&mut self, changes: &[PersonPresence]) {
        for change in changes {
            self.put(change.user, Some(change.version));
        }
    }

    /// Somebody who may be seen differently: the answer that would have said so was lost.
    pub(super) fn add_doubtful(&mut self, user: UserId) {
        self.put(user, None);
    }

    fn put(&mut self, user: UserId, version: Option<u64>) {
        match self.versions.get_mut(&user) {
            Some(known) => *known = (*known).max(version),
            None => {
                self.versions.insert(user, version);
                self.order.push_back(user);
            }
        }
    }

    /// Tells of at most `most` people, those first who have waited longest.
    pub(super) fn tell(&mut self, most: usize, announcer: &Announcer, metrics: &PresenceMetrics) {
        for user in self.order.drain(..most.min(self.order.len())) {
            let version = self.versions.remove(&user).flatten();
            announcer.person_seen(user, version);
            metrics.changes.inc();
        }
    }
}
