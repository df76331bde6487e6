//! The loop over a store of numbers: how many rows there are to remove, and when it fails.

use std::collections::VecDeque;

use async_trait::async_trait;
use domain::TaskId;
use parking_lot::Mutex;
use store::retention::TrimmedTaskRuns;
use tokio::sync::Notify;

use super::*;

#[derive(Default)]
struct Rows {
    tickets: u64,
    events: u64,
    task_runs: u64,
    /// What the next calls of `reap` fail with.
    failures: VecDeque<StoreError>,
    reaps: u32,
}

#[derive(Default)]
struct Fake {
    rows: Mutex<Rows>,
    called: Notify,
}

impl Fake {
    /// Tickets and events that are still there.
    fn left(&self) -> (u64, u64) {
        let rows = self.rows.lock();
        (rows.tickets, rows.events)
    }
}

#[async_trait]
impl store::Retention for Fake {
    async fn reap(&self, _: Duration, _: Duration, batch: u32) -> Result<Reaped, StoreError> {
        let mut rows = self.rows.lock();
        rows.reaps += 1;
        self.called.notify_one();
        if let Some(failure) = rows.failures.pop_front() {
            return Err(failure);
        }
        let tickets = rows.tickets.min(batch.into());
        rows.tickets -= tickets;
        Ok(Reaped { tickets, ..Reaped::default() })
    }

    async fn trim_events(&self, limits: EventLimits, batch: u32) -> Result<u64, StoreError> {
        assert_eq!(limits.max_per_stream, 7);
        let mut rows = self.rows.lock();
        let events = rows.events.min(batch.into());
        rows.events -= events;
        Ok(events)
    }

    async fn trim_notifications(&self, _: Duration, _: u32) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn trim_task_runs(
        &self,
        _: TaskRunLimits,
        _: Option<TaskId>,
        batch: u32,
    ) -> Result<TrimmedTaskRuns, StoreError> {
        let mut rows = self.rows.lock();
        let runs = rows.task_runs.min(batch.into());
        rows.task_runs -= runs;
        Ok(TrimmedTaskRuns { runs, ..TrimmedTaskRuns::default() })
    }
}

const KEPT: TaskRunLimits =
    TaskRunLimits { max_age: Duration::ZERO, max_per_task: 0, deliveries: Duration::ZERO };

fn settings() -> RetentionSettings {
    RetentionSettings { batch: 10, events_max_per_stream: 7, ..RetentionSettings::default() }
}

fn retention(fake: &Arc<Fake>) -> (Retention, RetentionMetrics) {
    let metrics = RetentionMetrics::register(&Registry::new()).expect("fresh registry");
    (Retention::new(fake.clone(), settings(), KEPT, metrics.clone()), metrics)
}

fn removed(metrics: &RetentionMetrics, what: &str) -> u64 {
    metrics.removed.with_label_values(&[what]).get()
}

#[tokio::test]
async fn a_round_removes_until_nothing_is_left() {
    let fake = Arc::new(Fake::default());
    *fake.rows.lock() = Rows { tickets: 25, events: 40, task_runs: 20, ..Rows::default() };
    let (mut retention, metrics) = retention(&fake);
    retention.round(&CancellationToken::new()).await;
    assert_eq!(fake.left(), (0, 0));
    assert_eq!((removed(&metrics, "tickets"), removed(&metrics, "events")), (25, 40));
    assert_eq!((removed(&metrics, "task_runs"), fake.rows.lock().task_runs), (20, 0));
    assert_eq!(fake.rows.lock().reaps, 3, "two full batches and a short one");
}

#[tokio::test]
async fn a_failed_part_leaves_the_others_and_the_next_round_goes_on() {
    let fake = Arc::new(Fake::default());
    let failures = VecDeque::from([StoreError::Unavailable("gone".into())]);
    *fake.rows.lock() = Rows { tickets: 5, events: 5, failures, ..Rows::default() };
    let (mut retention, metrics) = retention(&fake);
    retention.round(&CancellationToken::new()).await;
    assert!(retention.failing);
    assert_eq!(fake.left(), (5, 0));
    assert_eq!(metrics.errors.with_label_values(&["reap"]).get(), 1);
    retention.round(&CancellationToken::new()).await;
    assert!(!retention.failing);
    assert_eq!(fake.rows.lock().tickets, 0);
}

#[tokio::test(start_paused = true)]
async fn rounds_come_at_the_interval_and_end_when_told() {
    let fake = Arc::new(Fake::default());
    let (retention, _) = retention(&fake);
    let stop = CancellationToken::new();
    let running = tokio::spawn(retention.run(stop.clone()));
    let began = Instant::now();
    fake.called.notified().await;
    let interval = settings().interval;
    assert!(began.elapsed() <= interval, "{:?}", began.elapsed());
    let first = Instant::now();
    fake.called.notified().await;
    let between = first.elapsed();
    assert!(between >= interval * 9 / 10 && between <= interval * 12 / 10, "{between:?}");
    stop.cancel();
    running.await.expect("ended in order");
}

#[tokio::test]
async fn a_worker_that_stops_begins_no_other_batch() {
    let fake = Arc::new(Fake::default());
    fake.rows.lock().tickets = 100;
    let (mut retention, _) = retention(&fake);
    let stop = CancellationToken::new();
    stop.cancel();
    retention.round(&stop).await;
    assert_eq!(fake.rows.lock().tickets, 100);
}

#[test]
fn by_default_the_log_is_kept_for_ever() {
    assert_eq!(event_limits(&RetentionSettings::default()), None);
    let limits = EventLimits { max_age: Duration::ZERO, max_per_stream: 7 };
    assert_eq!(event_limits(&settings()), Some(limits));
}
