//! What is counted of tasks.

use std::time::Duration;

use domain::task::TaskRunStatus;
use prometheus::{Histogram, HistogramOpts, IntCounter, IntCounterVec, IntGauge, Opts, Registry};

/// Counters of the scheduler.
#[derive(Debug, Clone)]
pub struct SchedulerMetrics {
    claimed: IntCounter,
    lateness: Histogram,
    lost: IntCounter,
    finished: IntCounterVec,
    fenced: IntCounter,
    running: IntGauge,
}

impl SchedulerMetrics {
    /// Registers them.
    ///
    /// # Errors
    ///
    /// When they are registered already.
    pub fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let finished = Opts::new("switchboard_tasks_finished_total", "Runs of tasks that this worker ended.");
        let lateness = HistogramOpts::new(
            "switchboard_task_lateness_seconds",
            "From when a run of a task could be started to its start.",
        );
        let buckets = vec![0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 600.0];
        let metrics = Self {
            claimed: IntCounter::new(
                "switchboard_tasks_claimed_total",
                "Runs of tasks that this worker claimed.",
            )?,
            lateness: Histogram::with_opts(lateness.buckets(buckets))?,
            lost: IntCounter::new(
                "switchboard_tasks_lost_total",
                "Runs of workers that were gone, which this worker recorded as lost.",
            )?,
            finished: IntCounterVec::new(finished, &["status"])?,
            fenced: IntCounter::new(
                "switchboard_tasks_fenced_total",
                "Ends of runs that were refused, because the runs were no longer this worker's.",
            )?,
            running: IntGauge::new("switchboard_tasks_running", "Runs of tasks that this worker is at.")?,
        };
        registry.register(Box::new(metrics.claimed.clone()))?;
        registry.register(Box::new(metrics.lateness.clone()))?;
        registry.register(Box::new(metrics.lost.clone()))?;
        registry.register(Box::new(metrics.finished.clone()))?;
        registry.register(Box::new(metrics.fenced.clone()))?;
        registry.register(Box::new(metrics.running.clone()))?;
        for status in TaskRunStatus::ALL.iter().filter(|status| status.is_over()) {
            metrics.finished.with_label_values(&[status.as_str()]);
        }
        Ok(metrics)
    }

    pub(super) fn claimed(&self, late: Duration) {
        self.claimed.inc();
        self.lateness.observe(late.as_secs_f64());
    }

    pub(super) fn finished(&self, status: TaskRunStatus) {
        self.finished.with_label_values(&[status.as_str()]).inc();
    }

    pub(super) fn fenced(&self, runs: u64) {
        self.fenced.inc_by(runs);
    }

    pub(super) fn lost(&self, runs: u64) {
        self.lost.inc_by(runs);
    }

    pub(super) fn running(&self, runs: usize) {
        self.running.set(i64::try_from(runs).unwrap_or(i64::MAX));
    }
}
