//! Presence: this node's connections written for all to see, and how people are seen, told.
//!
//! [`PresenceWriter`] writes the rows of a node (mode multi), [`PresenceNotes`] notes people of the one process that there is (mode single). A worker
//! [reaps](Operations::reap_presence) the rows of nodes that are gone and [checks](Operations::check_people) what is noted.
//!
//! Whoever changes how a person is seen says so to its own hub, to the other nodes, and to who waits for [`Operations::people_wake`].

mod heard;
mod notes;
mod untold;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use domain::{NodeId, UserId};
use prometheus::{IntCounter, Registry};
use realtime::MemoryView;
use store::StoreError;
use store::presence::{CheckedPeople, PersonPresence, ReapedPresence};
use tokio::sync::Notify;

use crate::Operations;

pub(crate) use heard::PeopleHeard;
pub use notes::PresenceNotes;
pub use writer::PresenceWriter;

/// Rows of one statement, and people of one transaction.
const BATCH: usize = 1000;

/// When presence is written, and for how long it is believed.
#[derive(Debug, Clone, Copy)]
pub struct PresenceRules {
    /// `cluster.presence_flush_interval`.
    pub flush_interval: Duration,
    /// `cluster.presence_ttl`.
    pub ttl: Duration,
    /// `sync.resume_window`.
    pub resume_window: Duration,
    /// `presence.max_changes_per_flush`.
    pub max_changes: u32,
}

/// Counters of presence.
#[derive(Debug, Clone)]
pub struct PresenceMetrics {
    /// Rows written or refreshed.
    rows_written: IntCounter,
    /// Flushes that failed.
    write_errors: IntCounter,
    /// People of whom this node said that they are seen differently.
    changes: IntCounter,
}

impl PresenceMetrics {
    /// Registers the metrics.
    ///
    /// # Errors
    ///
    /// When one of the names is registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let metrics = Self {
            rows_written: IntCounter::new(
                "switchboard_presence_rows_written_total",
                "Rows of connections that were written or refreshed",
            )?,
            write_errors: IntCounter::new(
                "switchboard_presence_write_errors_total",
                "Flushes of presence that failed",
            )?,
            changes: IntCounter::new(
                "switchboard_presence_changes_total",
                "People of whom this node said that they are seen differently",
            )?,
        };
        for counter in [&metrics.rows_written, &metrics.write_errors, &metrics.changes] {
            registry.register(Box::new(counter.clone()))?;
        }
        Ok(metrics)
    }
}

impl Operations {
    /// What writes the rows of this node.
    #[must_use]
    pub fn presence_writer(&self, node: NodeId, metrics: PresenceMetrics) -> PresenceWriter {
        PresenceWriter::new(Arc::clone(&self.store), self.announcer.clone(), node, self.presence, metrics)
    }

    /// What notes people in the only process that there is.
    #[must_use]
    pub fn presence_notes(&self, view: Arc<MemoryView>, metrics: PresenceMetrics) -> PresenceNotes {
        PresenceNotes::new(Arc::clone(&self.store), self.announcer.clone(), view, self.presence, metrics)
    }

    /// When presence is written, and for how long it is believed.
    #[must_use]
    pub const fn presence_rules(&self) -> PresenceRules {
        self.presence
    }

    /// Removes rows of connections that are live no more, of a bounded number of people, and tells whoever is seen differently by it.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn reap_presence(&self) -> Result<ReapedPresence, StoreError> {
        let PresenceRules { ttl, max_changes, .. } = self.presence;
        self.store.watch_presence(ttl).await?;
        let reaped = self.store.reap_presence(ttl, max_changes).await?;
        self.tell(&reaped.changes);
        Ok(reaped)
    }

    /// Compares how a page of people is noted with the rows, and tells what was not so. Nothing is done while rows may be missing.
    ///
    /// # Errors
    ///
    /// When the store does not answer.
    pub async fn check_people(&self, after: Option<UserId>) -> Result<CheckedPeople, StoreError> {
        let PresenceRules { ttl, max_changes, .. } = self.presence;
        let checked = self.store.check_people(after, max_changes, ttl).await?;
        self.tell(&checked.changes);
        Ok(checked)
    }

    fn tell(&self, changes: &[PersonPresence]) {
        for change in changes {
            self.announcer.person_seen(change.user, Some(change.version));
        }
    }

    /// What a loop waits on that cares for how people are seen: woken when somebody is seen differently, said by this node or another, and when
    /// notifications may have been missed. For one who waits. Nothing is kept for it before this is called first.
    #[must_use]
    pub fn people_wake(&self) -> Arc<Notify> {
        self.announcer.people().listen()
    }

    /// Takes the people who were said to be seen differently since this was called last. When very many were, some are left out: who needs all of
    /// them looks from time to time by itself.
    #[must_use]
    pub fn take_people_seen(&self) -> Vec<UserId> {
        self.announcer.people().take()
    }
}
