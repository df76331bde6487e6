//! Who is given which run, and in what order.

use std::collections::{BTreeMap, BTreeSet};

use domain::task::{Priority, QueueReason, RunEnd, TaskRunStatus};
use domain::{TaskId, TaskRunId, UserId, WorkerSessionId};
use futures_util::future::join_all;
use store::queue::Work;
use store::tasks::{NewTask, NewTaskRun, TaskSettings};

use super::task_scene::{Chores, asked, done, ended, new_task, retry};
use super::world::World;

/// Somebody's tasks of a priority, each with a run that is ready.
async fn ready(chores: &Chores, owner: UserId, priority: Priority, count: usize) -> Vec<TaskId> {
    let made = (0..count).map(|_| async {
        let task = new_task(owner);
        let task = NewTask { settings: TaskSettings { priority, ..task.settings }, ..task };
        let id = chores.make(&task).await;
        chores.ask(id).await;
        id
    });
    let mut tasks = Vec::new();
    for some in made.collect::<Vec<_>>().into_iter() {
        tasks.push(some.await);
    }
    tasks
}

pub(crate) async fn every_attempt_belongs_to_the_trace_of_the_call_that_asked_for_it(world: World) {
    let chores = Chores::new(world).await;
    let (session, task) = (chores.worker().await, chores.task().await);
    let trace = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into());
    chores.queue(&NewTaskRun { trace: trace.clone(), ..asked(task) }).await.expect("queued");
    let first = chores.claim_one(session).await;
    assert_eq!(first.trace, trace);
    chores.finish(session, &ended(&first, RunEnd::Failed, retry())).await;
    chores.promote().await;
    let second = chores.claim_one(session).await;
    assert_eq!((second.attempt, &second.trace), (2, &trace));
    // Another call is another trace, or none.
    chores.finish(session, &done(&second)).await;
    chores.ask(task).await;
    assert_eq!(chores.claim_one(session).await.trace, None);
}

pub(crate) async fn a_claim_gives_what_is_needed_to_work(world: World) {
    let chores = Chores::new(world).await;
    let task = new_task(chores.alex);
    chores.make(&task).await;
    let run = chores.ask(task.id).await;
    assert_eq!(chores.stands(run).await, (TaskRunStatus::Queued, Some(QueueReason::InLine)));
    let session = chores.worker().await;
    let claimed = chores.claim_one(session).await;
    assert_eq!((claimed.id, claimed.task, claimed.owner, claimed.chain), (run, task.id, chores.alex, run));
    assert_eq!((claimed.epoch, claimed.attempt, claimed.cancel_requested), (1, 1, false));
    let wanted = (task.settings.name.as_str(), Some(&task.settings.action));
    assert_eq!((claimed.name.as_str(), claimed.action.as_ref()), wanted);
    assert_eq!(
        (claimed.max_runtime, claimed.plan.retries, claimed.plan.version),
        (task.settings.max_runtime, 2, 1)
    );
    assert!(claimed.due_at <= claimed.started_at);
    let seen = chores.run(run).await;
    assert_eq!(
        (seen.status, seen.epoch, seen.started_at),
        (TaskRunStatus::Running, 1, Some(claimed.started_at))
    );
    assert!(seen.node.is_some() && seen.lease_expires_at.is_some());
    assert_eq!(chores.see(task.id).await.last_run_at, Some(claimed.started_at));
    assert_eq!(chores.claim(session, 5).await, []);
    chores.finish(session, &done(&claimed)).await;
    let seen = chores.run(run).await;
    assert_eq!((seen.status, seen.attempt, seen.lease_expires_at), (TaskRunStatus::Succeeded, 1, None));
    assert!(seen.finished_at >= seen.started_at && seen.node.is_some());
    let task = chores.see(task.id).await;
    assert_eq!((task.run_count, task.last_run_at), (1, Some(claimed.started_at)));
}

pub(crate) async fn a_run_is_claimed_once_however_many_claim(world: World) {
    const WORKERS: usize = 16;
    const TASKS: usize = 1500;
    let chores = Chores::new(world).await;
    let tasks = join_all((0..8).map(|_| {
        let chores = chores.clone();
        tokio::spawn(async move { ready(&chores, chores.alex, Priority::Normal, TASKS / 8).await })
    }));
    let tasks: Vec<TaskId> = tasks.await.into_iter().flat_map(|made| made.expect("no panic")).collect();
    let workers = (0..WORKERS).map(|number| {
        let chores = chores.clone();
        tokio::spawn(async move {
            let session = chores.worker().await;
            let budget = 5 + number as u32;
            let (mut mine, mut finished): (Vec<TaskRunId>, Vec<_>) = (Vec::new(), Vec::new());
            loop {
                let worked = chores.work(session, &finished, budget).await;
                assert_eq!(worked.finished.len(), finished.len());
                assert!(worked.claimed.len() <= budget as usize, "{} of {budget}", worked.claimed.len());
                assert!(worked.claimed.is_sorted_by_key(|run| run.turn));
                if worked.claimed.is_empty() {
                    return mine;
                }
                mine.extend(worked.claimed.iter().map(|run| run.id));
                finished = worked.claimed.iter().map(done).collect();
            }
        })
    });
    let claimed: Vec<_> =
        join_all(workers).await.into_iter().flat_map(|mine| mine.expect("no panic")).collect();
    assert_eq!(claimed.len(), tasks.len());
    assert_eq!(claimed.iter().collect::<BTreeSet<_>>().len(), tasks.len(), "a run was claimed twice");
    for task in tasks.iter().step_by(100) {
        assert_eq!(chores.stand(*task).await, [TaskRunStatus::Succeeded]);
    }
}

pub(crate) async fn a_claim_takes_no_more_than_it_may(world: World) {
    let chores = Chores::new(world).await;
    ready(&chores, chores.alex, Priority::Normal, 5).await;
    let session = chores.worker().await;
    assert_eq!(chores.claim(session, 0).await, []);
    let first = chores.claim(session, 3).await;
    assert_eq!(first.len(), 3);
    let finished: Vec<_> = first.iter().map(done).collect();
    let worked = chores.work(session, &finished, 3).await;
    assert_eq!((worked.finished.len(), worked.claimed.len()), (3, 2));
    // What is over is not over again.
    let worked = chores.work(session, &finished, 3).await;
    assert_eq!((worked.finished.len(), worked.claimed.len()), (0, 0));
}

pub(crate) async fn nothing_is_given_to_who_is_over(world: World) {
    let chores = Chores::new(world).await;
    let task = chores.task().await;
    let run = chores.ask(task).await;
    assert_eq!(chores.claim(WorkerSessionId::new(), 1).await, [], "nobody");
    let session = chores.worker().await;
    chores.expire(session).await;
    assert_eq!(chores.claim(session, 1).await, []);
    let session = chores.worker().await;
    chores.store.switch_scheduler(chores.alex, false).await.expect("off");
    assert_eq!(chores.claim(session, 1).await, []);
    assert!(!chores.store.scheduler_enabled().await.expect("an answer"));
    assert_eq!(chores.stands(run).await, (TaskRunStatus::Queued, Some(QueueReason::SchedulerDisabled)));
    chores.store.switch_scheduler(chores.alex, true).await.expect("on");
    assert_eq!(chores.claim_one(session).await.id, run);
    assert_eq!(chores.store.close_worker(session).await.expect("closed"), 1);
    assert_eq!(chores.claim(session, 1).await, []);
}

pub(crate) async fn a_task_runs_once_at_a_time(world: World) {
    let chores = Chores::new(world).await;
    let task = chores.task().await;
    let mut runs = Vec::new();
    for _ in 0..4 {
        runs.push(chores.ask(task).await);
    }
    let session = chores.worker().await;
    for (number, run) in runs.iter().enumerate() {
        let claimed = chores.claim(session, 10).await;
        assert_eq!(claimed.iter().map(|run| run.id).collect::<Vec<_>>(), [*run]);
        for later in &runs[number + 1..] {
            assert_eq!(chores.stands(*later).await, (TaskRunStatus::Queued, Some(QueueReason::TaskBusy)));
        }
        let worked = chores.work(session, &[done(&claimed[0])], 10).await;
        // What waited for it is ready after it, and whoever ended it hears so.
        assert_eq!((worked.claimed.len(), worked.unblocked), (0, u32::from(number < 3)));
    }
    assert_eq!(chores.claim(session, 10).await, []);
    assert_eq!(chores.stand(task).await, [TaskRunStatus::Succeeded; 4]);
}

pub(crate) async fn who_has_much_delays_nobody(world: World) {
    const BATCH: u32 = 50;
    let chores = Chores::new(world).await;
    let sam = chores.person().await;
    ready(&chores, chores.alex, Priority::Normal, 1000).await;
    let session = chores.worker().await;
    for _ in 0..3 {
        assert_eq!(chores.claim(session, BATCH).await.len(), 50);
        let task = ready(&chores, sam, Priority::Normal, 1).await[0];
        let next = chores.claim(session, BATCH).await;
        assert!(next.iter().any(|run| run.task == task), "Sam's run waits behind Alex's");
        assert_eq!(next.len(), 50);
    }
    // Also behind those that are made ready together.
    let task = ready(&chores, sam, Priority::Low, 1).await[0];
    let next = chores.claim(session, BATCH).await;
    assert!(next.iter().any(|run| run.task == task));
}

pub(crate) async fn who_comes_new_has_their_share_and_no_more(world: World) {
    let chores = Chores::new(world).await;
    let sam = chores.person().await;
    ready(&chores, chores.alex, Priority::Normal, 60).await;
    let session = chores.worker().await;
    chores.claim(session, 20).await;
    // Sam was away while twenty were claimed, and may not make up for that.
    ready(&chores, sam, Priority::Normal, 40).await;
    let next = chores.claim(session, 20).await;
    let sams = next.iter().filter(|run| run.owner == sam).count();
    assert!((9..=11).contains(&sams), "{sams} of 20");
    // Who had much before, and nothing in line now, begins where the line is.
    let rest = chores.claim(session, 1000).await;
    assert_eq!(rest.len(), 60);
    let turn = rest.iter().map(|run| run.turn).max().expect("some");
    ready(&chores, chores.alex, Priority::High, 1).await;
    ready(&chores, sam, Priority::Low, 1).await;
    let last = chores.claim(session, 10).await;
    assert_eq!(last.iter().map(|run| run.turn).collect::<Vec<_>>(), [turn + 1, turn + 16]);
}

pub(crate) async fn priorities_weigh_and_starve_nobody(world: World) {
    let chores = Chores::new(world).await;
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        ready(&chores, chores.alex, priority, 130).await;
    }
    let mut of: BTreeMap<TaskId, Priority> = BTreeMap::new();
    for task in
        chores.store.tasks(chores.alex, store::tasks::TaskFilter::Own, None, 1000).await.expect("tasks")
    {
        of.insert(task.id, task.settings.priority);
    }
    let session = chores.worker().await;
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for _ in 0..3 {
        for run in chores.claim(session, 42).await {
            *counts.entry(of[&run.task].as_str()).or_default() += 1;
        }
    }
    assert_eq!(counts, [("high", 96), ("low", 6), ("normal", 24)].into());
}

pub(crate) async fn what_is_handed_back_is_first_and_the_same_attempt(world: World) {
    let chores = Chores::new(world).await;
    let sam = chores.person().await;
    ready(&chores, chores.alex, Priority::High, 30).await;
    let (one, two) = (chores.worker().await, chores.worker().await);
    let claimed = chores.claim(one, 10).await;
    let back = &claimed[3];
    let given = chores.store.hand_back(one, &[(back.id, back.epoch), (claimed[4].id, 7)]).await;
    assert_eq!(given.expect("an answer"), 1, "with a wrong number it is not its own");
    assert_eq!(chores.store.hand_back(two, &[(claimed[5].id, 1)]).await.expect("an answer"), 0, "another's");
    ready(&chores, sam, Priority::High, 1).await;
    let again = chores.claim_one(two).await;
    assert_eq!((again.id, again.epoch, again.attempt, again.chain), (back.id, 2, 1, back.chain));
    // The first claim is good for nothing any more.
    assert_eq!(chores.work(one, &[done(back)], 0).await.finished, []);
    chores.finish(two, &done(&again)).await;
    // All of it, at the end.
    assert_eq!(chores.store.close_worker(one).await.expect("closed"), 9);
    assert_eq!(chores.store.close_worker(one).await.expect("closed"), 0);
    let rest = chores.claim(two, 9).await;
    let mine: BTreeSet<_> = claimed.iter().map(|run| run.id).collect();
    assert!(rest.iter().all(|run| mine.contains(&run.id) && run.attempt == 1 && run.epoch == 2));
}

pub(crate) async fn the_line_does_not_go_back(world: World) {
    let chores = Chores::new(world).await;
    ready(&chores, chores.alex, Priority::Low, 20).await;
    let session = chores.worker().await;
    let first = chores.claim(session, 10).await;
    let last = first[9].turn;
    // What is handed back keeps its place in front, which is behind where the line is by the time it is claimed.
    chores.store.hand_back(session, &[(first[0].id, 1)]).await.expect("an answer");
    let worked = chores.store.work(session, Work { finished: &[], budget: 5, floor: last + 1 }).await;
    let line = worked.expect("an answer").claimed.last().expect("five").turn;
    assert_eq!(chores.claim_one(session).await.id, first[0].id);
    let sam = chores.person().await;
    ready(&chores, sam, Priority::High, 1).await;
    assert_eq!(chores.claim_one(session).await.turn, line + 1);
}
