//! The task that flushes runs: one statement at a time for all runs that are due.
//!
//! There is no timer but the pause of each run: an operation that finds its run idle is flushed at once. While a statement is under
//! way, what comes for any run waits for the next one, as with sends.

use std::sync::Arc;
use std::time::Duration;

use realtime::livebox::Flushed;
use store::Store;
use store::runs::{Patch, PatchOutcome};
use tokio::sync::MutexGuard;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::announcer::Announcer;
use crate::runs::live::{Flush, LiveRun, LiveRuns};
use crate::settings::RunSettings;

/// Runs of one statement.
const RUNS: usize = 200;

/// Flushes the runs of a node; a role supervises it.
pub struct FlushTask {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) announcer: Announcer,
    pub(crate) live: Arc<LiveRuns>,
    pub(crate) settings: RunSettings,
}

/// A run with its flush; nobody else writes it meanwhile.
struct Writing<'a> {
    live: &'a LiveRun,
    flush: Flush,
    _alone: MutexGuard<'a, ()>,
}

impl FlushTask {
    /// Flushes until the token is cancelled, then what is left.
    pub async fn run(self, stop: CancellationToken) {
        loop {
            let (due, next) = self.live.take_due(Instant::now());
            if !due.is_empty() {
                self.flush(&due).await;
                continue;
            }
            let next = next.unwrap_or_else(|| Instant::now() + Duration::from_secs(3600));
            tokio::select! {
                () = self.live.due.notified() => {}
                () = tokio::time::sleep_until(next) => {}
                () = stop.cancelled() => break,
            }
        }
        // What does not go now is lost with this node; its consumers resume elsewhere with what is stored.
        let left = self.live.take_all();
        self.flush(&left).await;
    }

    async fn flush(&self, due: &[Arc<LiveRun>]) {
        for part in due.chunks(RUNS) {
            let mut writing = Vec::with_capacity(part.len());
            for live in part {
                match live.writing.try_lock() {
                    Ok(alone) => match live.flush(self.settings.snapshot_every) {
                        Some(flush) => writing.push(Writing { live, flush, _alone: alone }),
                        None => self.forget_if_done(live),
                    },
                    // It is being finished: that writes the whole document, or the run is marked again.
                    Err(_) => self.again(live),
                }
            }
            if !writing.is_empty() {
                self.write(&writing).await;
            }
        }
    }

    async fn write(&self, writing: &[Writing<'_>]) {
        let patches: Vec<Patch> =
            writing.iter().map(|Writing { live, flush, .. }| live.patch(flush)).collect();
        match self.store.write_patches(&patches).await {
            Ok(outcomes) => {
                for (writing, outcome) in writing.iter().zip(outcomes) {
                    self.settle(writing, outcome);
                }
            }
            Err(error) => {
                tracing::warn!(%error, runs = writing.len(), "can't flush runs; trying again");
                for Writing { live, .. } in writing {
                    self.again(live);
                }
            }
        }
    }

    fn settle(&self, Writing { live, flush, .. }: &Writing<'_>, outcome: PatchOutcome) {
        let run = live.holder.run;
        let more = live.settle(outcome, self.settings.flush_interval);
        match outcome {
            PatchOutcome::Written(version) => {
                self.announcer.run_flushed(&Flushed {
                    run,
                    epoch: live.holder.epoch,
                    base: flush.base,
                    version,
                    ops: &flush.ops,
                    text: &flush.text,
                });
                if more {
                    self.live.mark(run);
                }
            }
            PatchOutcome::Emptied => {
                tracing::info!(%run, "patches of a run are gone; writing its document whole");
                self.live.mark(run);
            }
            PatchOutcome::Lost => {
                tracing::info!(%run, epoch = live.holder.epoch, "a run is no longer written here");
            }
        }
        self.forget_if_done(live);
    }

    fn again(&self, live: &LiveRun) {
        live.postpone(Duration::from_millis(rand::random_range(50..150)));
        self.live.mark(live.holder.run);
    }

    fn forget_if_done(&self, live: &LiveRun) {
        if live.is_done() {
            self.live.forget(live);
        }
    }
}
