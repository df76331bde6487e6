//! Takes up what workers that are gone leave behind: their runs, and ticks that only they knew of.
//!
//! Every worker looks, and the write says whether the session is over and the run still its: so a run is recorded as lost once. What it can't
//! record stays for the next look, and does not keep others from being recorded.

use std::sync::Arc;
use std::time::Duration;

use domain::WorkerSessionId;
use domain::task::{RunEnd, TaskRunStatus};
use node::SchedulerSettings;
use store::queue::{FinishedRun, LostRun};
use store::{Store, StoreError};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::metrics::SchedulerMetrics;
use super::outcome::{Over, Rules};

/// Runs that are taken up at one time.
const AT_ONCE: u32 = 200;
/// How much longer than `max_runtime` a run may be under way before it is taken from a worker that hangs.
const HANGING_FOR: Duration = Duration::from_secs(30);
/// Looking takes no more than one part of so many: it steps over all that is dead in the line, which is much while an old snapshot is held.
const SHARE: u32 = 10;

/// Looks three times within a lease until the token is cancelled; more seldom when looking takes long.
pub async fn run(
    store: Arc<dyn Store>,
    settings: SchedulerSettings,
    metrics: SchedulerMetrics,
    wake: Arc<Notify>,
    stop: CancellationToken,
) {
    let rules = Rules::from(&settings);
    let (mut failing, mut tidy) = (false, Instant::now());
    let often = settings.lease / 3;
    let mut pause = rand::random_range(Duration::ZERO..=often);
    while stop.run_until_cancelled(sleep(pause)).await.is_some() {
        pause = rand::random_range(often * 9 / 10..=often * 11 / 10);
        let began = Instant::now();
        let looked = look(&*store, &rules, &metrics, &wake, &mut tidy, settings.interval).await;
        match looked {
            Ok(more) => {
                failing = false;
                pause = if more { Duration::ZERO } else { pause.max(began.elapsed() * SHARE) };
            }
            Err(error) if failing => tracing::debug!(%error, "still can't look for lost runs of tasks"),
            Err(error) => {
                failing = true;
                tracing::warn!(%error, "can't look for lost runs of tasks; trying again");
            }
        }
    }
}

/// One look; true when there may be more.
async fn look(
    store: &dyn Store,
    rules: &Rules,
    metrics: &SchedulerMetrics,
    wake: &Notify,
    tidy: &mut Instant,
    interval: Duration,
) -> Result<bool, StoreError> {
    if Instant::now() >= *tidy {
        *tidy = Instant::now() + interval;
        if store.tidy_queue(HANGING_FOR).await? > 0 {
            wake.notify_one();
        }
    }
    if store.is_overdue().await? {
        // Planned by a worker that is gone, since we looked last: nobody else knows of it.
        wake.notify_one();
    }
    let found = store.lost_runs(AT_ONCE).await?;
    if found.is_empty() {
        return Ok(false);
    }
    let lost: Vec<_> = found.iter().map(|run| lose(rules, run)).collect();
    let recorded = store.lose_runs(&lost).await?;
    for run in found.iter().filter(|run| recorded.contains(&run.id)) {
        tracing::warn!(run = %run.id, task = %run.task, session = %run.session, attempt = run.attempt, "the worker of a run is gone");
        metrics.finished(TaskRunStatus::Lost);
    }
    metrics.lost(recorded.len() as u64);
    if !recorded.is_empty() {
        // What is tried again is due now.
        wake.notify_one();
    }
    Ok(!recorded.is_empty() && found.len() >= AT_ONCE as usize)
}

fn lose(rules: &Rules, run: &LostRun) -> (WorkerSessionId, FinishedRun) {
    let over = Over {
        plan: &run.plan,
        trigger: run.trigger,
        attempt: run.attempt,
        scheduled_for: run.scheduled_for,
        end: RunEnd::Lost,
        retry_after: None,
        now: run.now,
    };
    let finished = FinishedRun {
        run: run.id,
        task: run.task,
        epoch: run.epoch,
        end: RunEnd::Lost,
        error: Some("the worker died, or was not heard of for as long as its lease".into()),
        output: None,
        version: run.plan.version,
        next: rules.next(&over),
    };
    (run.session, finished)
}
