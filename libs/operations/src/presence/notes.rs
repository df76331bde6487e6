//! How people are seen by the only process that there is: it has every connection itself, and writes no rows.
//!
//! What is noted outlives the process. So after a start nobody is noted as less than they were until clients have had `sync.resume_window` to come back;
//! then everybody who is noted and did not is noted as offline.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::{PersonStatus, UserId};
use realtime::MemoryView;
use store::presence::Evidence;
use store::{Store, StoreError};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::announcer::Announcer;
use crate::presence::untold::Untold;
use crate::presence::{BATCH, PresenceMetrics, PresenceRules};

/// How often everything that is noted is compared with who is there.
const CHECK: Duration = Duration::from_secs(30);

/// Notes the people of one process.
pub struct PresenceNotes {
    store: Arc<dyn Store>,
    announcer: Announcer,
    view: Arc<MemoryView>,
    rules: PresenceRules,
    metrics: PresenceMetrics,
    /// What the store is known to have.
    noted: HashMap<UserId, PersonStatus>,
    checked_at: Option<Instant>,
    untold: Untold,
    failing: bool,
}

impl PresenceNotes {
    pub(super) fn new(
        store: Arc<dyn Store>,
        announcer: Announcer,
        view: Arc<MemoryView>,
        rules: PresenceRules,
        metrics: PresenceMetrics,
    ) -> Self {
        Self {
            store,
            announcer,
            view,
            rules,
            metrics,
            noted: HashMap::new(),
            checked_at: None,
            untold: Untold::default(),
            failing: false,
        }
    }

    /// Notes at each interval, until the token is cancelled. Then everybody stays as noted: their clients come back to the next process.
    pub async fn run(mut self, stop: CancellationToken) {
        while stop.run_until_cancelled(sleep(self.rules.flush_interval)).await.is_some() {
            self.flush().await;
        }
    }

    /// Notes once.
    pub async fn flush(&mut self) {
        match self.try_flush().await {
            Ok(()) => {
                if self.failing {
                    tracing::info!("how people are seen can be noted again");
                }
                self.failing = false;
            }
            Err(error) => {
                self.metrics.write_errors.inc();
                if self.failing {
                    tracing::debug!(%error, "how people are seen still can't be noted");
                } else {
                    tracing::warn!(%error, "how people are seen can't be noted; trying again");
                }
                self.failing = true;
            }
        }
        self.untold.tell(self.rules.max_changes as usize, &self.announcer, &self.metrics);
    }

    async fn try_flush(&mut self) -> Result<(), StoreError> {
        let here: HashMap<UserId, PersonStatus> =
            self.view.everybody().into_iter().map(|(user, live)| (user, PersonStatus::of(&live))).collect();
        if self.view.settles_in().is_some() {
            // Who is noted as online already can't be noted as less now.
            let more: Vec<_> = here
                .into_iter()
                .filter(|(user, status)| self.noted.get(user).is_none_or(|noted| noted != status))
                .collect();
            return self.note(&more, Evidence::Partial).await;
        }
        if self.checked_at.is_none_or(|checked| checked.elapsed() >= CHECK) {
            self.check(&here).await?;
            self.checked_at = Some(Instant::now());
        }
        let gone = self.noted.keys().filter(|user| !here.contains_key(user));
        let gone: Vec<_> = gone.map(|user| (*user, PersonStatus::Offline)).collect();
        let changed = here.into_iter().filter(|(user, status)| self.noted.get(user) != Some(status));
        let changed: Vec<_> = changed.chain(gone).collect();
        self.note(&changed, Evidence::Whole).await
    }

    async fn note(
        &mut self,
        people: &[(UserId, PersonStatus)],
        evidence: Evidence,
    ) -> Result<(), StoreError> {
        for part in people.chunks(BATCH) {
            let changes = self.store.note_people(part, evidence).await;
            let changes = changes.inspect_err(|_| {
                // It may have been written, and its answer be lost.
                part.iter().for_each(|(user, _)| self.untold.add_doubtful(*user));
            })?;
            self.untold.add(&changes);
            for (user, status) in part {
                match (status, evidence) {
                    (PersonStatus::Offline, _) => drop(self.noted.remove(user)),
                    // Perhaps they were online before, and stay so for now.
                    (PersonStatus::Idle, Evidence::Partial) => {}
                    (status, _) => drop(self.noted.insert(*user, *status)),
                }
            }
        }
        Ok(())
    }

    /// Takes over what is noted of everybody, also by a process before this one.
    async fn check(&mut self, here: &HashMap<UserId, PersonStatus>) -> Result<(), StoreError> {
        let mut after = None;
        loop {
            let page = self.store.people_noted(after, BATCH as u32).await?;
            after = page.last().map(|last| last.user);
            let mut differing = Vec::new();
            for noted in &page {
                let seen = here.get(&noted.user).copied().unwrap_or(PersonStatus::Offline);
                if seen != noted.status {
                    differing.push((noted.user, seen));
                }
            }
            self.note(&differing, Evidence::Whole).await?;
            if page.len() < BATCH {
                return Ok(());
            }
        }
    }
}
