//! Anything in any order: after each step the queue is what it must be.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::task::{QueueReason, RunEnd, TaskRunStatus, Trigger};
use domain::{TaskId, TaskRunId, WorkerSessionId};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use store::queue::{ClaimedRun, FinishedRun, Next};
use store::tasks::TaskRun;

use super::people::HOUR;
use super::task_scene::{Chores, ended, from_now, tick};
use super::world::World;

const TASKS: usize = 3;
const WORKERS: usize = 3;
const RETRIES: u32 = 2;
/// Rounds in which everything that was asked for, with all its attempts, is done.
const MOST_ROUNDS: usize = 70;

#[derive(Debug, Clone)]
enum Op {
    Ask {
        task: usize,
    },
    Promote,
    Claim {
        worker: usize,
        budget: u32,
    },
    /// Ends some of what a worker has, and claims more.
    Work {
        worker: usize,
        ends: Vec<RunEnd>,
        budget: u32,
    },
    HandBack {
        worker: usize,
    },
    Cancel {
        task: usize,
        nth: usize,
    },
    Pause {
        task: usize,
        due: bool,
    },
    Rename {
        task: usize,
    },
    Delete {
        task: usize,
    },
    Expire {
        worker: usize,
    },
    Close {
        worker: usize,
    },
    Lose,
    Tidy,
}

fn op() -> impl Strategy<Value = Op> {
    let (task, worker, nth) = (0..TASKS, 0..WORKERS, 0..6_usize);
    let end = prop::sample::select(vec![
        RunEnd::Succeeded,
        RunEnd::Failed,
        RunEnd::Refused,
        RunEnd::TimedOut,
        RunEnd::Cancelled,
    ]);
    prop_oneof![
        4 => task.clone().prop_map(|task| Op::Ask { task }),
        4 => Just(Op::Promote),
        4 => (worker.clone(), 1..4_u32).prop_map(|(worker, budget)| Op::Claim { worker, budget }),
        6 => (worker.clone(), prop::collection::vec(end, 1..3), 0..3_u32)
            .prop_map(|(worker, ends, budget)| Op::Work { worker, ends, budget }),
        1 => worker.clone().prop_map(|worker| Op::HandBack { worker }),
        2 => (task.clone(), nth).prop_map(|(task, nth)| Op::Cancel { task, nth }),
        2 => (task.clone(), any::<bool>()).prop_map(|(task, due)| Op::Pause { task, due }),
        1 => task.clone().prop_map(|task| Op::Rename { task }),
        1 => task.prop_map(|task| Op::Delete { task }),
        2 => worker.clone().prop_map(|worker| Op::Expire { worker }),
        1 => worker.prop_map(|worker| Op::Close { worker }),
        3 => Just(Op::Lose),
        1 => Just(Op::Tidy),
    ]
}

/// A worker's session, and what it believes it has.
struct Hand {
    session: WorkerSessionId,
    held: Vec<ClaimedRun>,
}

struct Model {
    chores: Chores,
    tasks: Vec<TaskId>,
    /// Sessions that were before, with what they still believe to have: they may come back and say so.
    ghosts: Vec<Hand>,
    hands: Vec<Hand>,
    /// What is known of each run that was claimed.
    chains: BTreeMap<TaskRunId, TaskRunId>,
    /// How each run ended, once.
    over: BTreeMap<TaskRunId, TaskRunStatus>,
}

pub(crate) async fn the_queue_is_what_it_must_be_after_each_step(world: World) {
    let runtime = tokio::runtime::Handle::current();
    let mut runner = TestRunner::new(Config { cases: 24, failure_persistence: None, ..Config::default() });
    let outcome = tokio::task::block_in_place(|| {
        runner.run(&prop::collection::vec(op(), 1..60), |ops| {
            runtime.block_on(async {
                let mut model = Model::new(&world).await;
                for op in ops {
                    model.step(op).await;
                    model.check().await;
                }
                model.end().await;
            });
            Ok(())
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

impl Model {
    async fn new(world: &World) -> Self {
        let chores = Chores::new(world.clone()).await;
        let mut tasks = Vec::new();
        for _ in 0..TASKS {
            tasks.push(chores.ticking(-10).await);
        }
        let mut hands = Vec::new();
        for _ in 0..WORKERS {
            hands.push(Hand { session: chores.worker().await, held: Vec::new() });
        }
        let (chains, over, ghosts) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Self { chores, tasks, ghosts, hands, chains, over }
    }

    async fn step(&mut self, op: Op) {
        match op {
            Op::Ask { task } => {
                self.chores.ask(self.tasks[task]).await;
            }
            Op::Promote => {
                self.chores.promote().await;
            }
            Op::Claim { worker, budget } => self.work(worker, &[], budget).await,
            Op::Work { worker, ends, budget } => self.work(worker, &ends, budget).await,
            Op::HandBack { worker } => {
                let hand = &mut self.hands[worker];
                let back: Vec<_> = hand.held.drain(..).map(|run| (run.id, run.epoch)).collect();
                self.chores.store.hand_back(hand.session, &back).await.expect("an answer");
            }
            Op::Cancel { task, nth } => self.cancel(task, nth).await,
            Op::Pause { task, due } => self.toggle(task, due).await,
            Op::Rename { task } => {
                let name = |edit: &mut store::tasks::TaskEdit| edit.settings.name = "Other".into();
                self.chores.edit(self.tasks[task], name).await;
            }
            Op::Delete { task } => {
                assert!(self.chores.store.delete_task(self.tasks[task]).await.expect("deleted"));
                self.tasks[task] = self.chores.ticking(-10).await;
            }
            Op::Expire { worker } => {
                self.chores.expire(self.hands[worker].session).await;
                self.replace(worker).await;
            }
            Op::Close { worker } => {
                let hand = &self.hands[worker];
                self.chores.store.close_worker(hand.session).await.expect("closed");
                self.replace(worker).await;
            }
            Op::Lose => self.lose().await,
            Op::Tidy => {
                assert_eq!(
                    self.chores.store.tidy_queue(HOUR).await.expect("tidied"),
                    0,
                    "nothing is left lying"
                );
            }
        }
        // Who was over comes back, and says what it believes.
        for ghost in &mut self.ghosts {
            let finished: Vec<FinishedRun> = ghost
                .held
                .iter()
                .map(|run| ended(run, RunEnd::Succeeded, following(run, RunEnd::Succeeded)))
                .collect();
            let worked = self.chores.work(ghost.session, &finished, 3).await;
            assert!(worked.finished.is_empty() && worked.claimed.is_empty());
        }
    }

    async fn replace(&mut self, worker: usize) {
        let fresh = Hand { session: self.chores.worker().await, held: Vec::new() };
        self.ghosts.push(std::mem::replace(&mut self.hands[worker], fresh));
    }

    async fn work(&mut self, worker: usize, ends: &[RunEnd], budget: u32) {
        let hand = &mut self.hands[worker];
        let ended_now = hand.held.drain(..ends.len().min(hand.held.len()));
        let finished: Vec<FinishedRun> =
            ended_now.zip(ends).map(|(run, end)| ended(&run, *end, following(&run, *end))).collect();
        let worked = self.chores.work(hand.session, &finished, budget).await;
        assert_eq!(worked.finished.len(), finished.len(), "who is good ends what it has");
        for run in &finished {
            assert_eq!(self.over.insert(run.run, run.end.status()), None, "over once");
        }
        assert!(worked.claimed.len() <= budget as usize);
        for run in worked.claimed {
            assert!((1..=1 + RETRIES).contains(&run.attempt), "attempt {}", run.attempt);
            assert_eq!(run.attempt == 1, run.chain == run.id, "the first attempt names the chain");
            if let Some(chain) = self.chains.insert(run.id, run.chain) {
                assert_eq!(chain, run.chain);
            }
            assert!(!self.over.contains_key(&run.id), "what is over is not claimed");
            hand.held.push(run);
        }
    }

    async fn cancel(&mut self, task: usize, nth: usize) {
        let task = self.tasks[task];
        let runs = self.chores.runs(task).await;
        let Some(run) = runs.get(nth) else { return };
        let next = match run.trigger {
            Trigger::Schedule => tick(from_now(-1)),
            Trigger::Manual | Trigger::Webhook => Next::Nothing,
        };
        let version = self.chores.see(task).await.version;
        let stands = self.chores.store.cancel_task_run(run.id, version, next).await.expect("an answer");
        let stands = stands.expect("a run");
        if run.status == TaskRunStatus::Queued {
            assert_eq!(stands.status, TaskRunStatus::Cancelled);
            assert_eq!(self.over.insert(run.id, TaskRunStatus::Cancelled), None);
        } else {
            assert_eq!(stands.status, run.status);
            assert!(stands.status.is_over() || stands.cancel_requested);
        }
    }

    async fn toggle(&mut self, task: usize, due: bool) {
        let at = from_now(if due { -1 } else { 3600 });
        // What was shown of the times before is over by this.
        for run in self.chores.runs(self.tasks[task]).await {
            if run.trigger == Trigger::Schedule && run.status == TaskRunStatus::Queued {
                assert_eq!(self.over.insert(run.id, TaskRunStatus::Cancelled), None);
            }
        }
        self.chores
            .edit(self.tasks[task], |edit| {
                edit.settings.is_active = !edit.settings.is_active;
                edit.next = edit.settings.is_active.then_some(at);
                edit.replan = true;
            })
            .await;
    }

    async fn lose(&mut self) {
        let lost = self.chores.store.lost_runs(100).await.expect("an answer");
        let lost: Vec<_> = lost
            .into_iter()
            .map(|run| {
                let next = if RunEnd::Lost.is_retried(run.attempt, run.plan.retries) {
                    again()
                } else if run.trigger == Trigger::Schedule {
                    tick(from_now(-1))
                } else {
                    Next::Nothing
                };
                let end = FinishedRun {
                    run: run.id,
                    task: run.task,
                    epoch: run.epoch,
                    end: RunEnd::Lost,
                    error: None,
                    output: None,
                    version: run.plan.version,
                    next,
                };
                (run.session, end)
            })
            .collect();
        let recorded = self.chores.store.lose_runs(&lost).await.expect("an answer");
        assert_eq!(recorded.len(), lost.len());
        for run in recorded {
            assert_eq!(self.over.insert(run, TaskRunStatus::Lost), None, "over once");
        }
    }

    /// What must be true at every moment.
    async fn check(&self) {
        for task in &self.tasks {
            let (seen, runs) = (self.chores.see(*task).await, self.chores.runs(*task).await);
            let ids: BTreeSet<_> = runs.iter().map(|run| run.id).collect();
            assert_eq!(ids.len(), runs.len(), "a run is there once: {runs:#?}");
            let of = |is: &dyn Fn(&TaskRun) -> bool| runs.iter().filter(|run| is(run)).count();
            let active =
                of(&|run| run.status == TaskRunStatus::Running || run.reason == Some(QueueReason::InLine));
            assert!(active <= 1, "{active} are active: {runs:#?}");
            let blocked = of(&|run| run.reason == Some(QueueReason::TaskBusy));
            assert!(blocked == 0 || active == 1, "{blocked} wait for nothing: {runs:#?}");
            let ticks = of(&|run| run.trigger == Trigger::Schedule && !run.status.is_over());
            let waits = usize::from(seen.next_run_at.is_some());
            if seen.settings.is_active {
                // `next_run_at` is also that of a run of the tick that no worker has.
                assert!(ticks.max(waits) == 1, "{ticks} ticks, next {:?}: {runs:#?}", seen.next_run_at);
            } else {
                assert!(ticks <= 1, "{ticks} ticks of a task that is paused: {runs:#?}");
            }
            let over = of(&|run| run.status.is_over());
            assert_eq!(seen.run_count, over as u64);
            for run in &runs {
                assert!((1..=1 + RETRIES).contains(&run.attempt));
                let known = self.over.get(&run.id);
                assert_eq!(run.status.is_over().then_some(&run.status), known, "{run:#?}");
            }
        }
    }

    /// Whether all runs are over.
    async fn rests(&self) -> bool {
        for task in &self.tasks {
            if self.chores.runs(*task).await.iter().any(|run| !run.status.is_over()) {
                return false;
            }
        }
        true
    }

    /// When nobody asks for more, everything comes to its end.
    async fn end(&mut self) {
        for worker in 0..WORKERS {
            self.chores.expire(self.hands[worker].session).await;
            self.replace(worker).await;
        }
        for task in 0..TASKS {
            if self.chores.see(self.tasks[task]).await.settings.is_active {
                self.toggle(task, false).await;
            }
        }
        for _ in 0..MOST_ROUNDS {
            self.lose().await;
            self.chores.promote().await;
            let all = vec![RunEnd::Succeeded; 100];
            self.work(0, &all, 10).await;
            self.check().await;
            if self.hands[0].held.is_empty() && self.rests().await {
                break;
            }
        }
        for task in &self.tasks {
            let runs = self.chores.runs(*task).await;
            assert!(runs.iter().all(|run| run.status.is_over()), "{runs:#?}");
        }
        // The next case begins with an empty queue.
        for task in &self.tasks {
            self.chores.store.delete_task(*task).await.expect("deleted");
        }
        assert_eq!(self.chores.claim(self.hands[0].session, 10).await, []);
    }
}

fn again() -> Next {
    Next::Retry { id: TaskRunId::new(), after: Duration::ZERO, otherwise: TaskRunId::new() }
}

/// What follows on a run of an hourly task whose hours pass quickly.
fn following(run: &ClaimedRun, end: RunEnd) -> Next {
    if end.is_retried(run.attempt, run.plan.retries) {
        again()
    } else if run.trigger == Trigger::Schedule {
        tick(from_now(-1))
    } else {
        Next::Nothing
    }
}
