//! What a worker does while its lease is good.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::task::{Action, TaskRunStatus};
use domain::{TaskId, TaskRunId};
use jiff::SignedDuration;
use store::queue::{ClaimedRun, Fence, FinishedRun, MovedTick, Next, Work};
use store::{Store, StoreError};
use tokio::sync::Notify;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use super::floor::Floor;
use super::lease::Lease;
use super::outcome::{Over, Rules};
use super::{Scheduler, actions};

/// Runs that are made ready at one time.
const DUE_AT_ONCE: u32 = 1000;
/// Cancels are looked for at most so often.
const CANCELS_AT_MOST_EVERY: Duration = Duration::from_millis(100);
/// The shortest and the longest pause when something is due that we can't have: others are at it.
const SPIN: (Duration, Duration) = (Duration::from_millis(2), Duration::from_secs(1));

/// A run that is under way here.
struct Held {
    of: TaskId,
    cancel: CancellationToken,
    task: AbortHandle,
    /// Whether it only watches something that goes on without it.
    follows: bool,
}

/// The time of one lease.
pub(super) struct Tenure<'a> {
    scheduler: &'a Scheduler,
    lease: &'a Lease,
    store: Arc<dyn Store>,
    wake: Arc<Notify>,
    rules: Rules,
    running: JoinSet<FinishedRun>,
    held: HashMap<TaskRunId, Held>,
    /// Over, and not yet recorded.
    over: Vec<FinishedRun>,
    floor: Floor,
    /// When to make ready what is due.
    due: Instant,
    spin: Duration,
    /// When to look for runs that are to be stopped.
    cancels: Instant,
    looked_for_cancels: Instant,
    /// When to hand back what the database says is ours and we do not know.
    reconcile: Instant,
}

impl<'a> Tenure<'a> {
    pub(super) fn new(scheduler: &'a Scheduler, lease: &'a Lease) -> Self {
        let now = Instant::now();
        Self {
            scheduler,
            lease,
            store: Arc::clone(scheduler.operations.store()),
            wake: scheduler.operations.task_wake(),
            rules: Rules::from(&scheduler.settings),
            running: JoinSet::new(),
            held: HashMap::new(),
            over: Vec::new(),
            floor: Floor::new(lease.turn()),
            due: now,
            spin: SPIN.0,
            cancels: now,
            looked_for_cancels: now,
            reconcile: now + scheduler.settings.interval,
        }
    }

    /// Works until the lease is over, or until told to stop.
    pub(super) async fn work(&mut self, stop: &CancellationToken) {
        let over = self.lease.over().clone();
        let mut failing = false;
        while !stop.is_cancelled() && !over.is_cancelled() {
            let Some(round) = over.run_until_cancelled(self.round()).await else { return };
            let pause = match round {
                Ok(()) => {
                    failing = false;
                    None
                }
                Err(error) => {
                    if failing {
                        tracing::debug!(%error, "still can't work on tasks");
                    } else {
                        tracing::warn!(%error, "can't work on tasks; trying again");
                    }
                    failing = true;
                    // Whether a claim was made nobody knows.
                    self.reconcile = Instant::now();
                    Some(
                        Instant::now()
                            + rand::random_range(Duration::from_millis(100)..Duration::from_millis(500)),
                    )
                }
            };
            self.wait(stop, &over, pause).await;
        }
    }

    /// Waits for something to do, or until `pause` is over.
    async fn wait(&mut self, stop: &CancellationToken, over: &CancellationToken, pause: Option<Instant>) {
        if let Some(pause) = pause {
            tokio::select! {
                () = stop.cancelled() => {}
                () = over.cancelled() => {}
                () = sleep_until(pause) => {}
            }
            return;
        }
        let mut next = self.due.min(self.reconcile);
        if !self.held.is_empty() {
            next = next.min(self.cancels);
        }
        if let (true, Some(look)) = (self.room() > 0, self.floor.look_at()) {
            next = next.min(look);
        }
        let wake = Arc::clone(&self.wake);
        tokio::select! {
            () = stop.cancelled() => {}
            () = over.cancelled() => {}
            Some(ended) = self.running.join_next(), if !self.running.is_empty() => self.ended(ended),
            () = wake.notified() => {
                self.due = Instant::now();
                self.cancels = self.due.max(self.looked_for_cancels + CANCELS_AT_MOST_EVERY);
            }
            () = sleep_until(next) => {}
        }
    }

    /// One round: records, claims, makes ready.
    async fn round(&mut self) -> Result<(), StoreError> {
        while let Some(ended) = self.running.try_join_next() {
            self.ended(ended);
        }
        if Instant::now() >= self.reconcile {
            self.reconcile().await?;
        }
        if Instant::now() >= self.cancels && !self.held.is_empty() {
            self.look_for_cancels().await?;
        }
        self.claim().await?;
        if Instant::now() >= self.due && self.promote().await? {
            self.claim().await?;
        }
        Ok(())
    }

    fn ended(&mut self, ended: Result<FinishedRun, tokio::task::JoinError>) {
        // A run can't panic past what catches it, and one that is aborted is nobody's business here.
        if let Ok(finished) = ended {
            self.held.remove(&finished.run);
            self.over.push(finished);
        }
    }

    /// Runs that may be claimed beside those that are under way.
    fn room(&self) -> usize {
        (self.scheduler.settings.max_concurrent as usize).saturating_sub(self.held.len())
    }

    /// Records what is over and claims what there is room for, also what waited for what is over.
    async fn claim(&mut self) -> Result<(), StoreError> {
        while self.record_and_claim().await? {}
        Ok(())
    }

    /// One transaction; true when there is more for us.
    async fn record_and_claim(&mut self) -> Result<bool, StoreError> {
        let room = self.room();
        let budget = u32::try_from(room).unwrap_or(u32::MAX);
        if budget == 0 && self.over.is_empty() {
            return Ok(false);
        }
        let began = Instant::now();
        let floor = self.floor.next(began);
        let work = Work { finished: &self.over, budget, floor };
        let worked = self.store.work(self.lease.session(), work).await?;
        if budget > 0 {
            let last = worked.claimed.last().map(|run| run.turn);
            self.floor.claimed(floor, began, worked.claimed.len(), last);
        }
        let (last, got) = (self.over.last().map(|run| run.task), worked.claimed.len());
        self.recorded(&worked.finished);
        for run in worked.claimed {
            self.start(run);
        }
        self.scheduler.metrics.running(self.held.len());
        let room_left = room > got;
        if let (false, true, Some(task)) = (room_left, worked.unblocked > 0, last) {
            // Somebody else may have room.
            self.scheduler.operations.announcer().task_due(task);
        }
        Ok(room_left && worked.unblocked > 0)
    }

    fn recorded(&mut self, recorded: &[TaskRunId]) {
        let metrics = &self.scheduler.metrics;
        if recorded.len() < self.over.len() {
            // Not ours any more, or recorded by the try before, whose answer was lost.
            metrics.fenced((self.over.len() - recorded.len()) as u64);
        }
        for run in self.over.drain(..) {
            metrics.finished(run.end.status());
            if run.next != Next::Nothing {
                // What waits now may be due before all that waited then.
                self.due = Instant::now();
            }
        }
    }

    fn start(&mut self, run: ClaimedRun) {
        let late = run.started_at.duration_since(run.due_at);
        self.scheduler.metrics.claimed(late.max(SignedDuration::ZERO).unsigned_abs());
        let fence = Fence { session: self.lease.session(), run: run.id, epoch: run.epoch };
        let cancel = CancellationToken::new();
        let follows = matches!(run.action, Some(Action::AgentRun { .. }));
        let (id, of) = (run.id, run.task);
        let actions = Arc::clone(&self.scheduler.actions);
        let span = span(&run);
        let doing = perform(actions, run, fence, self.rules, cancel.clone());
        let task = self.running.spawn(doing.instrument(span));
        self.held.insert(id, Held { of, cancel, task, follows });
    }

    /// Makes ready what is due, and says when to look next; true when that was any.
    async fn promote(&mut self) -> Result<bool, StoreError> {
        let settings = &self.scheduler.settings;
        self.move_late().await?;
        let promoted = self.store.promote_due(settings.misfire_grace, DUE_AT_ONCE).await?;
        let now = Instant::now();
        // Not all workers at the same instant.
        let longest = settings.interval.mul_f64(rand::random_range(0.9..=1.0));
        let mut pause = promoted.next_in.map_or(longest, |next| next.min(longest));
        if pause < SPIN.0 {
            if promoted.due > 0 {
                self.spin = SPIN.0;
            }
            pause = self.spin;
            self.spin = (self.spin * 2).min(SPIN.1);
        } else {
            self.spin = SPIN.0;
        }
        self.due = now + pause;
        Ok(promoted.due > 0)
    }

    /// Moves ticks that nobody was there for to where their tasks want them.
    async fn move_late(&self) -> Result<(), StoreError> {
        let late = self.store.late_ticks(self.scheduler.settings.misfire_grace, DUE_AT_ONCE).await?;
        if late.is_empty() {
            return Ok(());
        }
        let moved = late.iter().map(|tick| MovedTick {
            id: tick.id,
            from: tick.due,
            to: self.rules.late_tick(&tick.plan, tick.due, tick.now),
        });
        self.store.move_ticks(&moved.collect::<Vec<_>>()).await
    }

    async fn look_for_cancels(&mut self) -> Result<(), StoreError> {
        let now = Instant::now();
        self.looked_for_cancels = now;
        // Also without a notification, which may be lost.
        self.cancels = now + self.scheduler.settings.lease / 3;
        let held: Vec<TaskRunId> = self.held.keys().copied().collect();
        for run in self.store.cancelled_runs(&held).await? {
            if let Some(held) = self.held.get(&run) {
                held.cancel.cancel();
            }
        }
        Ok(())
    }

    async fn reconcile(&mut self) -> Result<(), StoreError> {
        let known: Vec<TaskRunId> =
            self.held.keys().copied().chain(self.over.iter().map(|run| run.run)).collect();
        let back = self.store.hand_back_unknown(self.lease.session(), &known).await?;
        if back > 0 {
            tracing::info!(runs = back, "runs whose claim was never answered are handed back");
        }
        self.reconcile = Instant::now() + self.scheduler.settings.interval;
        Ok(())
    }

    /// Ends what can be ended soon, hands the rest back, and ends the session.
    pub(super) async fn drain(mut self) {
        let deadline = Instant::now() + self.scheduler.settings.drain;
        for held in self.held.values().filter(|held| held.follows) {
            held.task.abort();
        }
        while let Ok(Some(ended)) = timeout_at(deadline, self.running.join_next()).await {
            self.ended(ended);
        }
        self.running.abort_all();
        let left = self.held.len();
        let (store, session) = (Arc::clone(&self.store), self.lease.session());
        let handed_over = async {
            if !self.over.is_empty() {
                let work = Work { finished: &self.over, budget: 0, floor: 0 };
                store.work(session, work).await?;
            }
            store.close_worker(session).await
        };
        match self.lease.over().run_until_cancelled(handed_over).await {
            Some(Ok(back)) => {
                if left > 0 {
                    tracing::info!(runs = back, "runs of tasks that were under way are handed back");
                }
                for held in self.held.values() {
                    self.scheduler.operations.announcer().task_due(held.of);
                }
                for run in &self.over {
                    self.scheduler.metrics.finished(run.end.status());
                }
            }
            Some(Err(error)) => {
                tracing::warn!(%error, "runs of tasks could not be handed back; others take them up when the lease is over");
            }
            None => tracing::warn!("the lease was over before runs of tasks could be handed back"),
        }
    }
}

/// Work on a run goes on with the trace of the call that asked for it, or begins one.
fn span(run: &ClaimedRun) -> Span {
    let make = || {
        tracing::info_span!(
            target: trace::CONSUMER,
            parent: None,
            "task run",
            task = %run.task,
            run = %run.id,
            attempt = run.attempt,
            trigger = run.trigger.as_str(),
            action = run.action.as_ref().map(Action::kind),
            outcome = tracing::field::Empty,
            failed = tracing::field::Empty
        )
    };
    match &run.trace {
        Some(trace) => trace::below(trace, [], make),
        None => make(),
    }
}

/// Does a run, and says what comes after it.
async fn perform(
    actions: Arc<actions::Actions>,
    run: ClaimedRun,
    fence: Fence,
    rules: Rules,
    cancel: CancellationToken,
) -> FinishedRun {
    let began = Instant::now();
    let outcome = actions.perform(&run, &fence, &cancel).await;
    let now = run.started_at + SignedDuration::try_from(began.elapsed()).unwrap_or(SignedDuration::ZERO);
    let over = Over {
        plan: &run.plan,
        trigger: run.trigger,
        attempt: run.attempt,
        scheduled_for: run.scheduled_for,
        end: outcome.end,
        retry_after: outcome.retry_after,
        now,
    };
    let next = rules.next(&over);
    let span = Span::current();
    let status = outcome.end.status();
    tracing::record_all!(span, outcome = status.as_str(), failed = status != TaskRunStatus::Succeeded);
    tracing::debug!("a run of a task is over");
    FinishedRun {
        run: run.id,
        task: run.task,
        epoch: run.epoch,
        end: outcome.end,
        error: outcome.error,
        output: outcome.output,
        version: run.plan.version,
        next,
    }
}
