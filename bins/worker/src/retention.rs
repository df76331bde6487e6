//! Removes what is spent: tickets, full rate buckets, silent nodes, ended sign-ins, old keys, questions that nobody waits for, patches
//! of runs that are over, old events, old notifications, the history of tasks.
//!
//! A *round* works in small batches, each a commit, until a batch comes back short. Every worker does rounds of its
//! own, no leader: rows that another worker is at are skipped, and a row that went is gone for
//! all. So a worker may die anywhere, and two may do the same.
//!
//! | failure | then |
//! |---|---|
//! | a batch fails | that part of the round ends, the others go on; logged once per outage, counted, tried again at the next round |
//! | the worker is told to stop | the batch at hand ends, no other begins |
//! | more comes in than a round removes | after each batch a pause as long as it took: others get their turn at the database |

use std::sync::Arc;
use std::time::Duration;

use node::RetentionSettings;
use prometheus::{Histogram, HistogramOpts, IntCounterVec, Opts, Registry};
use store::StoreError;
use store::retention::{EventLimits, Reaped, TaskRunLimits};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// Counters of retention.
#[derive(Debug, Clone)]
pub struct RetentionMetrics {
    removed: IntCounterVec,
    errors: IntCounterVec,
    seconds: Histogram,
}

impl RetentionMetrics {
    /// Registers them.
    ///
    /// # Errors
    ///
    /// When they are registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let removed = Opts::new("switchboard_retention_removed_total", "Rows that are no longer kept.");
        let errors = Opts::new("switchboard_retention_errors_total", "Batches that failed.");
        let seconds = HistogramOpts::new("switchboard_retention_seconds", "How long rounds took.");
        let metrics = Self {
            removed: IntCounterVec::new(removed, &["what"])?,
            errors: IntCounterVec::new(errors, &["part"])?,
            seconds: Histogram::with_opts(seconds.buckets(vec![0.01, 0.1, 1.0, 10.0, 60.0, 600.0]))?,
        };
        registry.register(Box::new(metrics.removed.clone()))?;
        registry.register(Box::new(metrics.errors.clone()))?;
        registry.register(Box::new(metrics.seconds.clone()))?;
        // Counters that are there from the start can be watched.
        metrics.reaped(&Reaped::default());
        for what in ["presence", "events", "notifications", "task_runs", "task_deliveries", "tasks"] {
            metrics.removed(what, 0);
        }
        Ok(metrics)
    }

    pub(crate) fn removed(&self, what: &str, rows: u64) {
        self.removed.with_label_values(&[what]).inc_by(rows);
    }

    fn reaped(&self, reaped: &Reaped) {
        let Reaped { tickets, buckets, nodes, sessions, keys, questions, documents } = *reaped;
        self.removed("tickets", tickets);
        self.removed("rate_buckets", buckets);
        self.removed("nodes", nodes);
        self.removed("sessions", sessions);
        self.removed("idempotency_keys", keys);
        self.removed("autocomplete_requests", questions);
        self.removed("patched_documents", documents);
    }
}

/// How much of the log is kept; none when all of it is.
fn event_limits(settings: &RetentionSettings) -> Option<EventLimits> {
    let (max_age, max_per_stream) = (settings.events_max_age, settings.events_max_per_stream);
    (!max_age.is_zero() || max_per_stream > 0).then_some(EventLimits { max_age, max_per_stream })
}

/// What retention is done to.
pub type Target = Arc<dyn store::Retention + Send + Sync>;

/// The loop of one worker.
pub struct Retention {
    store: Target,
    settings: RetentionSettings,
    task_runs: TaskRunLimits,
    metrics: RetentionMetrics,
    failing: bool,
}

impl Retention {
    /// The loop, to be run under supervision.
    #[must_use]
    pub const fn new(
        store: Target,
        settings: RetentionSettings,
        task_runs: TaskRunLimits,
        metrics: RetentionMetrics,
    ) -> Self {
        Self { store, settings, task_runs, metrics, failing: false }
    }

    /// Does rounds until told to stop.
    pub async fn run(mut self, stop: CancellationToken) {
        let interval = self.settings.interval;
        // Workers that are started together do not work together.
        let mut pause = rand::random_range(Duration::ZERO..=interval);
        while stop.run_until_cancelled(sleep(pause)).await.is_some() {
            self.round(&stop).await;
            pause = rand::random_range(interval * 9 / 10..=interval * 11 / 10);
        }
    }

    /// One round.
    async fn round(&mut self, stop: &CancellationToken) {
        let began = Instant::now();
        let parts = self.parts(stop).await;
        self.metrics.seconds.observe(began.elapsed().as_secs_f64());
        self.told(&parts);
    }

    /// One round, for who asks for it: the first failure, after everything was tried.
    pub(crate) async fn pass(&self, stop: &CancellationToken) -> Result<(), StoreError> {
        let parts = self.parts(stop).await;
        parts.into_iter().try_for_each(|(_, outcome)| outcome)
    }

    async fn parts(&self, stop: &CancellationToken) -> [(&'static str, Result<(), StoreError>); 4] {
        let reaped = self.reap(stop).await;
        let trimmed = match event_limits(&self.settings) {
            Some(limits) => self.trim(limits, stop).await,
            None => Ok(()),
        };
        let notifications = self.trim_notifications(stop).await;
        let runs = self.trim_task_runs(stop).await;
        [
            ("reap", reaped),
            ("trim_events", trimmed),
            ("trim_notifications", notifications),
            ("trim_task_runs", runs),
        ]
    }

    /// Removes what is spent whatever its age.
    pub(crate) async fn reap(&self, stop: &CancellationToken) -> Result<(), StoreError> {
        let RetentionSettings { nodes_after, sessions_after, batch, .. } = self.settings;
        while !stop.is_cancelled() {
            let began = Instant::now();
            let reaped = self.store.reap(nodes_after, sessions_after, batch).await?;
            self.metrics.reaped(&reaped);
            if reaped.most() < u64::from(batch) {
                break;
            }
            rest(stop, began).await;
        }
        Ok(())
    }

    async fn trim(&self, limits: EventLimits, stop: &CancellationToken) -> Result<(), StoreError> {
        while !stop.is_cancelled() {
            let began = Instant::now();
            let events = self.store.trim_events(limits, self.settings.batch).await?;
            self.metrics.removed("events", events);
            if events == 0 {
                break;
            }
            rest(stop, began).await;
        }
        Ok(())
    }

    async fn trim_notifications(&self, stop: &CancellationToken) -> Result<(), StoreError> {
        let RetentionSettings { notifications_max_age: max_age, batch, .. } = self.settings;
        while !max_age.is_zero() && !stop.is_cancelled() {
            let began = Instant::now();
            let removed = self.store.trim_notifications(max_age, batch).await?;
            self.metrics.removed("notifications", removed);
            if removed < u64::from(batch) {
                break;
            }
            rest(stop, began).await;
        }
        Ok(())
    }

    async fn trim_task_runs(&self, stop: &CancellationToken) -> Result<(), StoreError> {
        let mut after = None;
        while !stop.is_cancelled() {
            let began = Instant::now();
            let trimmed = self.store.trim_task_runs(self.task_runs, after, self.settings.batch).await?;
            self.metrics.removed("task_runs", trimmed.runs);
            self.metrics.removed("task_deliveries", trimmed.deliveries);
            self.metrics.removed("tasks", trimmed.tasks);
            let full = trimmed.runs >= u64::from(self.settings.batch);
            if trimmed.next.is_none() && !full {
                break;
            }
            after = trimmed.next;
            rest(stop, began).await;
        }
        Ok(())
    }

    /// Logs the first failure of an outage, and its end.
    fn told(&mut self, parts: &[(&str, Result<(), StoreError>)]) {
        let mut failing = false;
        for (part, outcome) in parts {
            if let Err(error) = outcome {
                failing = true;
                self.metrics.errors.with_label_values(&[part]).inc();
                if self.failing {
                    tracing::debug!(part, %error, "retention fails still");
                } else {
                    tracing::warn!(part, %error, "retention failed, the next round tries again");
                }
            }
        }
        if self.failing && !failing {
            tracing::info!("retention works again");
        }
        self.failing = failing;
    }
}

/// Rests after a batch as long as it took.
async fn rest(stop: &CancellationToken, began: Instant) {
    stop.run_until_cancelled(sleep(began.elapsed())).await;
}

#[cfg(test)]
mod tests;
