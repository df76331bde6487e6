//! A person with tasks, and workers: what cases of tasks stand on.

use std::ops::Deref;
use std::time::Duration;

use domain::task::{Action, Misfire, Priority, QueueReason, RunEnd, SystemJob, TaskRunStatus, Trigger};
use domain::{NodeId, TaskId, TaskRunId, UserId, WorkerSessionId};
use jiff::{SignedDuration, Timestamp};
use store::StoreError;
use store::queue::{ClaimedRun, Fence, FinishedRun, Next, Work, Worked};
use store::tasks::{NewTask, NewTaskRun, Queued, Task, TaskEdit, TaskRun, TaskSettings};

use super::people::HOUR;
use super::world::World;

/// Queued runs that a task takes when nothing else is said.
pub(crate) const MANY: u32 = 100_000;

/// A time so far from now; negative for one that has passed.
pub(crate) fn from_now(seconds: i64) -> Timestamp {
    // As exact as the database keeps it.
    let micros = Timestamp::now().as_microsecond();
    Timestamp::from_microsecond(micros).expect("now") + SignedDuration::from_secs(seconds)
}

/// A task that does nothing, and only when it is told to.
pub(crate) fn new_task(owner: UserId) -> NewTask {
    NewTask {
        id: TaskId::new(),
        owner,
        settings: TaskSettings {
            name: "Water the garden".into(),
            schedule: None,
            timezone: "UTC".into(),
            anchor: from_now(0),
            action: Action::System { name: SystemJob::Noop },
            is_active: true,
            priority: Priority::Normal,
            max_runtime: HOUR,
            retries: 2,
            misfire: Misfire::Once,
        },
        first: None,
        hook: None,
        webhook_key: None,
        key: None,
        max_per_owner: MANY,
    }
}

/// A task that is first due then.
pub(crate) fn ticking(owner: UserId, first: Timestamp) -> NewTask {
    let task = new_task(owner);
    NewTask {
        settings: TaskSettings { schedule: Some("@hourly".into()), ..task.settings },
        first: Some(first),
        ..task
    }
}

/// A run that a person asks for.
pub(crate) fn asked(task: TaskId) -> NewTaskRun {
    NewTaskRun {
        id: TaskRunId::new(),
        task,
        trigger: Trigger::Manual,
        delivery: None,
        input: None,
        max_queued: MANY,
        trace: None,
    }
}

/// An edit that leaves everything as it is, but for what follows.
pub(crate) fn edit(task: &Task) -> TaskEdit {
    TaskEdit {
        id: task.id,
        version: task.version,
        settings: task.settings.clone(),
        next: task.next_run_at,
        replan: false,
        webhook_key: None,
    }
}

/// A run that is over.
pub(crate) fn ended(run: &ClaimedRun, end: RunEnd, next: Next) -> FinishedRun {
    FinishedRun {
        run: run.id,
        task: run.task,
        epoch: run.epoch,
        end,
        error: None,
        output: None,
        version: run.plan.version,
        next,
    }
}

pub(crate) fn done(run: &ClaimedRun) -> FinishedRun {
    ended(run, RunEnd::Succeeded, Next::Nothing)
}

pub(crate) fn retry() -> Next {
    Next::Retry { id: TaskRunId::new(), after: Duration::ZERO, otherwise: TaskRunId::new() }
}

pub(crate) fn tick(at: Timestamp) -> Next {
    Next::Tick { id: TaskRunId::of_tick(at), at: Some(at) }
}

pub(crate) fn fence(session: WorkerSessionId, run: &ClaimedRun) -> Fence {
    Fence { session, run: run.id, epoch: run.epoch }
}

/// Alex, who has tasks.
#[derive(Clone)]
pub(crate) struct Chores {
    world: World,
    pub(crate) alex: UserId,
}

impl Deref for Chores {
    type Target = World;

    fn deref(&self) -> &World {
        &self.world
    }
}

impl Chores {
    pub(crate) async fn new(world: World) -> Self {
        let alex = world.person().await;
        Self { world, alex }
    }

    /// Makes a task that must be new.
    pub(crate) async fn make(&self, task: &NewTask) -> TaskId {
        let (made, fresh) = self.store.create_task(task).await.expect("a task");
        assert!(fresh);
        made.id
    }

    /// A task of Alex's that runs when it is told to.
    pub(crate) async fn task(&self) -> TaskId {
        self.make(&new_task(self.alex)).await
    }

    /// A task of Alex's that is first due so many seconds from now.
    pub(crate) async fn ticking(&self, seconds: i64) -> TaskId {
        self.make(&ticking(self.alex, from_now(seconds))).await
    }

    /// A task as Alex sees it.
    pub(crate) async fn see(&self, task: TaskId) -> Task {
        self.store.task(self.alex, task).await.expect("an answer").expect("a task of Alex's")
    }

    /// A run as Alex sees it.
    pub(crate) async fn run(&self, run: TaskRunId) -> TaskRun {
        self.store.task_run(self.alex, run).await.expect("an answer").expect("a run of Alex's")
    }

    /// All runs of a task, the newest first.
    pub(crate) async fn runs(&self, task: TaskId) -> Vec<TaskRun> {
        let runs = self.store.task_runs(self.alex, task, None, u32::MAX).await.expect("an answer");
        runs.expect("a task of Alex's")
    }

    /// How the runs of a task stand, the newest first.
    pub(crate) async fn stand(&self, task: TaskId) -> Vec<TaskRunStatus> {
        self.runs(task).await.iter().map(|run| run.status).collect()
    }

    /// How a run stands, and why it is queued.
    pub(crate) async fn stands(&self, run: TaskRunId) -> (TaskRunStatus, Option<QueueReason>) {
        let run = self.run(run).await;
        (run.status, run.reason)
    }

    /// Asks for a run.
    pub(crate) async fn ask(&self, task: TaskId) -> TaskRunId {
        self.queue(&asked(task)).await.expect("queued").run
    }

    pub(crate) async fn queue(&self, run: &NewTaskRun) -> Result<Queued, StoreError> {
        self.store.queue_task_run(run).await
    }

    /// A worker's session that is good.
    pub(crate) async fn worker(&self) -> WorkerSessionId {
        let session = WorkerSessionId::new();
        self.store.open_worker(session, NodeId::new(), HOUR).await.expect("a session");
        session
    }

    /// The lease of a session is over, by the database's clock.
    pub(crate) async fn expire(&self, session: WorkerSessionId) {
        assert!(self.store.renew_worker(session, Duration::ZERO).await.expect("an answer"));
        assert!(!self.store.renew_worker(session, HOUR).await.expect("an answer"));
    }

    pub(crate) async fn work(
        &self,
        session: WorkerSessionId,
        finished: &[FinishedRun],
        budget: u32,
    ) -> Worked {
        self.store.work(session, Work { finished, budget, floor: 0 }).await.expect("an answer")
    }

    pub(crate) async fn claim(&self, session: WorkerSessionId, budget: u32) -> Vec<ClaimedRun> {
        self.work(session, &[], budget).await.claimed
    }

    /// Claims the run that is next in line, which must be there.
    pub(crate) async fn claim_one(&self, session: WorkerSessionId) -> ClaimedRun {
        let mut claimed = self.claim(session, 1).await;
        assert_eq!(claimed.len(), 1);
        claimed.remove(0)
    }

    /// Ends a run, which must be the session's.
    pub(crate) async fn finish(&self, session: WorkerSessionId, run: &FinishedRun) {
        assert_eq!(self.work(session, std::slice::from_ref(run), 0).await.finished, [run.run]);
    }

    /// Makes ready what is due. How many runs that were.
    pub(crate) async fn promote(&self) -> u32 {
        self.store.promote_due(HOUR, 1000).await.expect("an answer").due
    }

    /// Records all runs of sessions that are over as lost, with what follows. What was recorded.
    pub(crate) async fn lose(&self, next: impl Fn() -> Next) -> Vec<TaskRunId> {
        let lost = self.store.lost_runs(1000).await.expect("an answer");
        let lost: Vec<_> = lost
            .iter()
            .map(|run| {
                let finished = FinishedRun {
                    run: run.id,
                    task: run.task,
                    epoch: run.epoch,
                    end: RunEnd::Lost,
                    error: Some("gone".into()),
                    output: None,
                    version: run.plan.version,
                    next: next(),
                };
                (run.session, finished)
            })
            .collect();
        self.store.lose_runs(&lost).await.expect("an answer")
    }

    /// Edits a task as it stands.
    pub(crate) async fn edit(&self, task: TaskId, change: impl FnOnce(&mut TaskEdit)) {
        let mut edit = edit(&self.see(task).await);
        change(&mut edit);
        assert!(self.store.edit_task(&edit).await.expect("edited"));
    }

    /// Pauses a task.
    pub(crate) async fn pause(&self, task: TaskId) {
        self.edit(task, |edit| {
            edit.settings.is_active = false;
            (edit.next, edit.replan) = (None, true);
        })
        .await;
    }
}
