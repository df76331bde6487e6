//! Documents of runs: no part of the log, and followed by version.

use std::sync::Arc;

use domain::RoomId;
use store::StoreError;
use store::runs::Known;
use tokio_util::sync::CancellationToken;

use super::{Relay, Trouble};

/// Runs of one query: their documents are read with them.
const RUNS: usize = 100;

impl Relay {
    /// Loads runs that changed, until the token is cancelled.
    pub async fn run_boxes(self: Arc<Self>, stop: CancellationToken) {
        let mut trouble = Trouble::default();
        loop {
            tokio::select! {
                () = self.hub.boxes().wake.notified() => {}
                () = stop.cancelled() => return,
            }
            loop {
                let dirty = self.hub.boxes().take_dirty(RUNS);
                if dirty.is_empty() {
                    break;
                }
                if let Err(error) = self.load_runs(&dirty).await {
                    self.hub.boxes().put_back(dirty.iter().map(|(known, _)| known.run));
                    tracing::warn!(%error, runs = dirty.len(), "can't read runs; trying again");
                    if trouble.wait(&stop).await {
                        return;
                    }
                } else {
                    trouble = Trouble::default();
                }
            }
        }
    }

    async fn load_runs(&self, dirty: &[(Known, RoomId)]) -> Result<(), StoreError> {
        let known: Vec<Known> = dirty.iter().map(|(known, _)| *known).collect();
        let updates = self.store.run_updates(&known).await?;
        for update in &updates {
            self.hub.run_loaded(update);
        }
        for gone in known.iter().filter(|known| updates.iter().all(|update| update.run != known.run)) {
            self.hub.boxes().forget(gone.run);
        }
        Ok(())
    }
}
