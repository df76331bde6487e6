//! How much of the history is kept.

use std::time::Duration;

use domain::task::TaskRunStatus;
use domain::{TaskId, WorkerSessionId};
use store::retention::{TaskRunLimits, TrimmedTaskRuns};

use super::people::HOUR;
use super::task_scene::{Chores, done};
use super::world::World;

const ALL: TaskRunLimits = TaskRunLimits { max_age: Duration::ZERO, max_per_task: 0, deliveries: HOUR };

/// Runs of a task that are over.
async fn ran(chores: &Chores, session: WorkerSessionId, task: TaskId, times: usize) {
    for _ in 0..times {
        chores.ask(task).await;
        let run = chores.claim_one(session).await;
        chores.finish(session, &done(&run)).await;
    }
}

/// All batches, to the end. What went, and how many batches it took.
async fn trim(chores: &Chores, limits: TaskRunLimits, batch: u32) -> (TrimmedTaskRuns, u32) {
    let (mut all, mut batches) = (TrimmedTaskRuns::default(), 0);
    loop {
        let trimmed = chores.store.trim_task_runs(limits, all.next, batch).await.expect("trimmed");
        let most = u64::from(batch);
        assert!(trimmed.runs <= most && trimmed.deliveries <= most && trimmed.tasks <= most, "{trimmed:?}");
        batches += 1;
        assert!(batches < 1000, "it comes to no end");
        all.runs += trimmed.runs;
        all.deliveries += trimmed.deliveries;
        all.tasks += trimmed.tasks;
        all.next = trimmed.next;
        if all.next.is_none() {
            return (all, batches);
        }
    }
}

pub(crate) async fn the_newest_runs_of_a_task_are_kept(world: World) {
    let chores = Chores::new(world).await;
    let (session, much, little) = (chores.worker().await, chores.task().await, chores.task().await);
    ran(&chores, session, much, 12).await;
    ran(&chores, session, little, 2).await;
    let newest: Vec<_> = chores.runs(much).await.iter().take(3).map(|run| run.id).collect();
    let limits = TaskRunLimits { max_per_task: 3, ..ALL };
    let (gone, batches) = trim(&chores, limits, 4).await;
    assert_eq!((gone.runs, gone.tasks), (9, 0));
    assert!(batches >= 3, "in small batches");
    let kept: Vec<_> = chores.runs(much).await.iter().map(|run| run.id).collect();
    assert_eq!(kept, newest);
    assert_eq!(chores.runs(little).await.len(), 2);
    assert_eq!((chores.see(much).await.run_count, chores.see(little).await.run_count), (12, 2));
    assert_eq!(trim(&chores, limits, 4).await.0.runs, 0);
    ran(&chores, session, much, 1).await;
    assert_eq!(chores.see(much).await.run_count, 13);
}

pub(crate) async fn old_runs_go(world: World) {
    let chores = Chores::new(world).await;
    let (session, task) = (chores.worker().await, chores.task().await);
    ran(&chores, session, task, 5).await;
    for (max_age, gone) in
        [(HOUR, 0), (HOUR * 24 * 365 * 1000, 0), (Duration::ZERO, 0), (Duration::from_micros(1), 5)]
    {
        let limits = TaskRunLimits { max_age, ..ALL };
        assert_eq!(trim(&chores, limits, 100).await.0.runs, gone, "{max_age:?}");
    }
    assert_eq!(chores.see(task).await.run_count, 5);
    // What is not over is no history.
    chores.ask(task).await;
    chores.ask(task).await;
    chores.claim_one(session).await;
    trim(&chores, TaskRunLimits { max_age: Duration::from_micros(1), max_per_task: 1, ..ALL }, 100).await;
    assert_eq!(chores.stand(task).await, [TaskRunStatus::Queued, TaskRunStatus::Running]);
}

pub(crate) async fn what_was_deleted_goes_entirely(world: World) {
    let chores = Chores::new(world).await;
    let (session, gone, stays) = (chores.worker().await, chores.task().await, chores.task().await);
    ran(&chores, session, gone, 25).await;
    ran(&chores, session, stays, 3).await;
    chores.ask(gone).await;
    let run = chores.claim_one(session).await;
    assert!(chores.store.delete_task(gone).await.expect("deleted"));
    assert!(!chores.store.delete_task(gone).await.expect("an answer"));
    let (trimmed, _) = trim(&chores, ALL, 10).await;
    assert_eq!((trimmed.runs, trimmed.tasks), (25, 0), "it has a run under way");
    chores.finish(session, &done(&run)).await;
    let (trimmed, _) = trim(&chores, ALL, 10).await;
    assert_eq!((trimmed.runs, trimmed.tasks), (1, 1));
    assert_eq!(trim(&chores, ALL, 10).await.0, TrimmedTaskRuns::default());
    assert_eq!(chores.runs(stays).await.len(), 3);
}

pub(crate) async fn every_task_has_its_turn(world: World) {
    let chores = Chores::new(world).await;
    let session = chores.worker().await;
    let mut tasks = Vec::new();
    for _ in 0..230 {
        let task = chores.task().await;
        chores.ask(task).await;
        tasks.push(task);
    }
    for _ in 0..2 {
        let claimed = chores.claim(session, 1000).await;
        assert_eq!(claimed.len(), tasks.len());
        let finished: Vec<_> = claimed.iter().map(done).collect();
        chores.work(session, &finished, 0).await;
        for task in &tasks {
            chores.ask(*task).await;
        }
    }
    let limits = TaskRunLimits { max_per_task: 1, ..ALL };
    let (gone, batches) = trim(&chores, limits, 30).await;
    assert_eq!(gone.runs, 230);
    assert!(batches >= 8, "in small batches");
    for task in tasks.iter().step_by(23) {
        assert_eq!(chores.see(*task).await.run_count, 2);
    }
}

pub(crate) async fn deliveries_are_known_for_a_while(world: World) {
    let chores = Chores::new(world).await;
    let task = chores.task().await;
    for number in 0..7 {
        let run =
            store::tasks::NewTaskRun { delivery: Some(number.to_string()), ..super::task_scene::asked(task) };
        chores.queue(&run).await.expect("queued");
    }
    assert_eq!(trim(&chores, ALL, 3).await.0.deliveries, 0);
    let limits = TaskRunLimits { deliveries: Duration::ZERO, ..ALL };
    assert_eq!(trim(&chores, limits, 3).await.0.deliveries, 7);
    let again = store::tasks::NewTaskRun { delivery: Some("0".into()), ..super::task_scene::asked(task) };
    assert!(!chores.queue(&again).await.expect("queued").repeated);
}
