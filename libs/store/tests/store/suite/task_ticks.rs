//! What comes after a run: ticks, retries, and what edits do to them.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::task::{QueueReason, RunEnd, TaskRunStatus, Trigger};
use domain::{TaskId, TaskRunId, WorkerSessionId};
use futures_util::future::join_all;
use jiff::Timestamp;
use store::queue::{ClaimedRun, MovedTick, Next};

use super::people::HOUR;
use super::task_scene::{Chores, asked, done, ended, from_now, retry, tick};
use super::world::World;

/// A task whose tick is worked on.
async fn begun(chores: &Chores) -> (TaskId, WorkerSessionId, ClaimedRun) {
    let task = chores.ticking(-10).await;
    assert_eq!(chores.promote().await, 1);
    let session = chores.worker().await;
    let run = chores.claim_one(session).await;
    assert_eq!((run.task, run.trigger), (task, Trigger::Schedule));
    (task, session, run)
}

async fn next_of(chores: &Chores, task: TaskId) -> Option<Timestamp> {
    chores.see(task).await.next_run_at
}

pub(crate) async fn a_tick_waits_for_its_time(world: World) {
    let chores = Chores::new(world).await;
    let nothing = chores.store.promote_due(HOUR, 10).await.expect("an answer");
    assert_eq!((nothing.due, nothing.next_in), (0, None));
    let at = from_now(1000);
    let task = chores.make(&super::task_scene::ticking(chores.alex, at)).await;
    assert_eq!(next_of(&chores, task).await, Some(at));
    let promoted = chores.store.promote_due(HOUR, 10).await.expect("an answer");
    assert_eq!(promoted.due, 0);
    let wait = promoted.next_in.expect("it waits").as_secs();
    assert!((980..=1000).contains(&wait), "{wait} s");
    assert_eq!(chores.runs(task).await, [], "a tick that is not due is no run");
    chores.store.switch_scheduler(chores.alex, false).await.expect("off");
    let off = chores.store.promote_due(HOUR, 10).await.expect("an answer");
    assert_eq!((off.due, off.next_in), (0, None), "nothing to wake for");
}

pub(crate) async fn a_tick_that_nobody_made_ready_is_overdue(world: World) {
    let chores = Chores::new(world).await;
    let is_overdue = async || chores.store.is_overdue().await.expect("an answer");
    assert!(!is_overdue().await, "there is none");
    chores.make(&super::task_scene::ticking(chores.alex, from_now(1000))).await;
    assert!(!is_overdue().await, "it is not due");
    chores.make(&super::task_scene::ticking(chores.alex, from_now(-1))).await;
    assert!(is_overdue().await);
    chores.store.switch_scheduler(chores.alex, false).await.expect("off");
    assert!(!is_overdue().await, "nobody is to begin anything");
    chores.store.switch_scheduler(chores.alex, true).await.expect("on");
    assert_eq!(chores.promote().await, 1);
    assert!(!is_overdue().await, "it is ready");
}

pub(crate) async fn a_tick_is_followed_by_the_next(world: World) {
    let chores = Chores::new(world).await;
    let (task, session, run) = begun(&chores).await;
    assert_eq!(next_of(&chores, task).await, None, "while it is worked on");
    let (at, later) = (from_now(3600), from_now(7200));
    chores.finish(session, &ended(&run, RunEnd::Succeeded, tick(at))).await;
    assert_eq!(next_of(&chores, task).await, Some(at));
    // Nothing is due, and the next is there once.
    assert_eq!(chores.promote().await, 0);
    assert_eq!(chores.work(session, &[ended(&run, RunEnd::Succeeded, tick(later))], 1).await.claimed, []);
    assert_eq!(next_of(&chores, task).await, Some(at));
    assert_eq!(chores.stand(task).await, [TaskRunStatus::Succeeded]);
    // The last one of all.
    let (task, session, run) = begun(&chores).await;
    let none = Next::Tick { id: TaskRunId::new(), at: None };
    chores.finish(session, &ended(&run, RunEnd::Succeeded, none)).await;
    assert_eq!(next_of(&chores, task).await, None);
    assert_eq!(chores.stand(task).await, [TaskRunStatus::Succeeded]);
}

pub(crate) async fn a_task_planned_anew_goes_on_as_its_edit_says(world: World) {
    let chores = Chores::new(world).await;
    for end in [RunEnd::Succeeded, RunEnd::Failed] {
        let (task, session, run) = begun(&chores).await;
        let planned = from_now(500);
        chores
            .edit(task, |edit| {
                edit.settings.schedule = Some("@daily".into());
                (edit.next, edit.replan) = (Some(planned), true);
            })
            .await;
        assert_eq!(next_of(&chores, task).await, None, "its tick is worked on still");
        let next = if end == RunEnd::Failed { retry() } else { tick(from_now(3600)) };
        chores.finish(session, &ended(&run, end, next)).await;
        assert_eq!(next_of(&chores, task).await, Some(planned));
        assert_eq!(chores.promote().await, 0);
    }
}

pub(crate) async fn an_edit_that_leaves_the_times_changes_nothing_of_them(world: World) {
    let chores = Chores::new(world).await;
    let (task, session, run) = begun(&chores).await;
    let rename = |at: Option<Timestamp>| {
        move |edit: &mut store::tasks::TaskEdit| {
            edit.settings.name = "Water the roses".into();
            (edit.next, edit.replan) = (at, false);
        }
    };
    // The editor's clock says that the tick which is worked on is still to come.
    chores.edit(task, rename(Some(run.scheduled_for))).await;
    chores.finish(session, &ended(&run, RunEnd::Failed, retry())).await;
    assert_eq!(chores.promote().await, 1, "tried again");
    let again = chores.claim_one(session).await;
    assert_eq!((again.attempt, again.chain, again.scheduled_for), (2, run.chain, run.scheduled_for));
    chores.edit(task, rename(Some(run.scheduled_for))).await;
    let at = from_now(3600);
    chores.finish(session, &ended(&again, RunEnd::Succeeded, tick(at))).await;
    assert_eq!(next_of(&chores, task).await, Some(at), "not the same tick again");
    // Nor is a tick that waits touched.
    chores.edit(task, rename(Some(from_now(5)))).await;
    assert_eq!(next_of(&chores, task).await, Some(at));
}

pub(crate) async fn nothing_follows_in_a_task_that_is_paused_or_gone(world: World) {
    let chores = Chores::new(world).await;
    for next in [retry(), tick(from_now(-5))] {
        // What was claimed before, with the version of then.
        let (task, session, run) = begun(&chores).await;
        chores.pause(task).await;
        chores.finish(session, &ended(&run, RunEnd::Failed, next)).await;
        assert_eq!((next_of(&chores, task).await, chores.promote().await), (None, 0));
        // What was handed back, and claimed with the version of now.
        let (task, session, run) = begun(&chores).await;
        chores.pause(task).await;
        chores.store.hand_back(session, &[(run.id, run.epoch)]).await.expect("an answer");
        let again = chores.claim_one(session).await;
        assert_eq!((again.id, again.plan.version), (run.id, 2));
        chores.finish(session, &ended(&again, RunEnd::Failed, next)).await;
        assert_eq!((next_of(&chores, task).await, chores.promote().await), (None, 0));
        // What was lost.
        let (task, session, run) = begun(&chores).await;
        chores.pause(task).await;
        chores.expire(session).await;
        assert_eq!(chores.lose(|| next).await, [run.id]);
        assert_eq!((next_of(&chores, task).await, chores.promote().await), (None, 0));
        // What was cancelled while it waited for a worker.
        let (task, session, run) = begun(&chores).await;
        chores.pause(task).await;
        chores.store.hand_back(session, &[(run.id, run.epoch)]).await.expect("an answer");
        chores.store.cancel_task_run(run.id, 2, next).await.expect("cancelled");
        assert_eq!(chores.stand(task).await, [TaskRunStatus::Cancelled]);
        assert_eq!((next_of(&chores, task).await, chores.promote().await), (None, 0));
        // Of what is gone.
        let (task, session, run) = begun(&chores).await;
        assert!(chores.store.delete_task(task).await.expect("deleted"));
        chores.finish(session, &ended(&run, RunEnd::Failed, next)).await;
        assert_eq!(chores.promote().await, 0);
        let idle = chores.store.promote_due(HOUR, 10).await.expect("an answer");
        assert_eq!(idle.next_in, None);
    }
}

pub(crate) async fn a_task_that_goes_on_again_has_one_tick(world: World) {
    let chores = Chores::new(world).await;
    let (task, session, run) = begun(&chores).await;
    chores.pause(task).await;
    let planned = from_now(700);
    chores
        .edit(task, |edit| {
            edit.settings.is_active = true;
            (edit.next, edit.replan) = (Some(planned), true);
        })
        .await;
    chores.finish(session, &ended(&run, RunEnd::Succeeded, tick(from_now(3600)))).await;
    assert_eq!(next_of(&chores, task).await, Some(planned));
    // One that waits is thrown away, and one that is ready too.
    chores.pause(task).await;
    assert_eq!(next_of(&chores, task).await, None);
    let due = from_now(-1);
    chores
        .edit(task, |edit| {
            edit.settings.is_active = true;
            (edit.next, edit.replan) = (Some(due), true);
        })
        .await;
    assert_eq!(chores.promote().await, 1);
    assert_eq!(next_of(&chores, task).await, Some(due));
    let asked = chores.ask(task).await;
    chores.pause(task).await;
    assert_eq!(next_of(&chores, task).await, None);
    assert_eq!(chores.claim_one(session).await.id, asked, "it was in its way");
}

pub(crate) async fn a_retry_waits_and_is_the_same_chain(world: World) {
    let chores = Chores::new(world).await;
    let task = chores.task().await;
    let input = Some(b"{}".to_vec());
    let asked = store::tasks::NewTaskRun {
        trigger: Trigger::Webhook,
        delivery: Some("d".into()),
        input: input.clone(),
        ..asked(task)
    };
    let first = chores.queue(&asked).await.expect("queued").run;
    let session = chores.worker().await;
    let run = chores.claim_one(session).await;
    let again = TaskRunId::new();
    let next = Next::Retry { id: again, after: HOUR, otherwise: TaskRunId::new() };
    chores.finish(session, &ended(&run, RunEnd::Failed, next)).await;
    assert_eq!(chores.stands(again).await, (TaskRunStatus::Queued, Some(QueueReason::Backoff)));
    let promoted = chores.store.promote_due(Duration::ZERO, 10).await.expect("an answer");
    assert_eq!(promoted.due, 0);
    assert!(promoted.next_in > Some(HOUR / 2));
    // Another run of the task may go meanwhile.
    let other = chores.ask(task).await;
    let run = chores.claim_one(session).await;
    assert_eq!(run.id, other);
    let next = Next::Retry { id: TaskRunId::new(), after: Duration::ZERO, otherwise: TaskRunId::new() };
    chores.finish(session, &ended(&run, RunEnd::TimedOut, next)).await;
    let late = chores.store.promote_due(Duration::ZERO, 10).await.expect("an answer");
    assert_eq!(late.due, 1, "an attempt is never missed");
    let run = chores.claim_one(session).await;
    assert_eq!((run.attempt, run.chain, run.trigger), (2, other, Trigger::Manual));
    chores.finish(session, &done(&run)).await;
    // Its turn is cancelled: nothing is left.
    let cancelled = chores.store.cancel_task_run(again, 1, Next::Nothing).await.expect("an answer");
    let cancelled = cancelled.expect("a run");
    assert_eq!(
        (cancelled.status, cancelled.attempt, cancelled.delivery),
        (TaskRunStatus::Cancelled, 2, Some("d".into()))
    );
    assert_eq!(chores.run(first).await.status, TaskRunStatus::Failed);
    assert_eq!(chores.store.promote_due(HOUR, 10).await.expect("an answer").next_in, None);
}

pub(crate) async fn attempts_that_an_edit_throws_away_are_kept_as_cancelled(world: World) {
    let chores = Chores::new(world).await;
    let (task, session, run) = begun(&chores).await;
    let again = TaskRunId::new();
    let next = Next::Retry { id: again, after: HOUR, otherwise: TaskRunId::new() };
    chores.finish(session, &ended(&run, RunEnd::Failed, next)).await;
    assert_eq!(chores.stands(again).await, (TaskRunStatus::Queued, Some(QueueReason::Backoff)));
    assert!(chores.run(again).await.due_at.is_some());
    chores.edit(task, |edit| (edit.settings.is_active, edit.next, edit.replan) = (false, None, true)).await;
    let thrown = chores.run(again).await;
    assert_eq!((thrown.status, thrown.attempt), (TaskRunStatus::Cancelled, 2));
    assert!(thrown.error.is_some_and(|why| why.contains("paused")));
    assert_eq!(thrown.due_at, None);
    // A tick that nothing was tried for is no run.
    let at = from_now(100);
    chores
        .edit(task, |edit| (edit.settings.is_active, edit.next, edit.replan) = (true, Some(at), true))
        .await;
    chores.edit(task, |edit| (edit.settings.is_active, edit.next, edit.replan) = (false, None, true)).await;
    assert_eq!(chores.runs(task).await.len(), 2);
}

pub(crate) async fn a_lost_tick_is_tried_again_at_once(world: World) {
    let chores = Chores::new(world).await;
    let (task, session, run) = begun(&chores).await;
    chores.expire(session).await;
    let lost = chores.store.lost_runs(10).await.expect("an answer");
    assert_eq!(lost.len(), 1);
    assert_eq!((lost[0].id, lost[0].task, lost[0].session, lost[0].epoch), (run.id, task, session, 1));
    assert_eq!((lost[0].attempt, lost[0].scheduled_for), (1, run.scheduled_for));
    assert_eq!(lost[0].plan, run.plan);
    assert_eq!(chores.lose(retry).await, [run.id]);
    assert_eq!(chores.store.lost_runs(10).await.expect("an answer"), []);
    let over = chores.run(run.id).await;
    assert_eq!((over.status, over.error.as_deref()), (TaskRunStatus::Lost, Some("gone")));
    assert!(over.node.is_some());
    assert_eq!(chores.promote().await, 1);
    let session = chores.worker().await;
    let again = chores.claim_one(session).await;
    assert_eq!((again.attempt, again.chain, again.scheduled_for), (2, run.chain, run.scheduled_for));
    let at = from_now(100);
    chores.finish(session, &ended(&again, RunEnd::Succeeded, tick(at))).await;
    assert_eq!(next_of(&chores, task).await, Some(at));
}

pub(crate) async fn a_cancelled_run_is_over_or_told(world: World) {
    let chores = Chores::new(world).await;
    let (task, session, run) = begun(&chores).await;
    // One that is worked on is asked to stop.
    let at = from_now(3600);
    let seen = chores.store.cancel_task_run(run.id, 1, tick(at)).await.expect("an answer").expect("a run");
    assert_eq!((seen.status, seen.cancel_requested), (TaskRunStatus::Running, true));
    let told = chores.store.cancelled_runs(&[run.id, TaskRunId::new()]).await.expect("an answer");
    assert_eq!(told, [run.id]);
    chores.store.hand_back(session, &[(run.id, 1)]).await.expect("an answer");
    let run = chores.claim_one(session).await;
    assert!(run.cancel_requested, "who claims it next is told");
    chores.finish(session, &ended(&run, RunEnd::Failed, retry())).await;
    assert_eq!(chores.store.cancelled_runs(&[run.id]).await.expect("an answer"), []);
    // One that waits for its next attempt is over; the next tick follows on it.
    let waits = chores.runs(task).await[0].id;
    let seen = chores.store.cancel_task_run(waits, 1, tick(at)).await.expect("an answer").expect("a run");
    assert_eq!(seen.status, TaskRunStatus::Cancelled);
    assert_eq!(next_of(&chores, task).await, Some(at));
    // What is over stays so, and a tick that waits is no run.
    let seen = chores.store.cancel_task_run(waits, 1, tick(from_now(9))).await.expect("an answer");
    assert_eq!(seen.expect("a run").status, TaskRunStatus::Cancelled);
    assert_eq!(next_of(&chores, task).await, Some(at));
    assert_eq!(
        chores.store.cancel_task_run(TaskRunId::new(), 1, Next::Nothing).await.expect("an answer"),
        None
    );
    // One that waits for a worker, with another behind it.
    let [first, second] = [chores.ask(task).await, chores.ask(task).await];
    chores.store.cancel_task_run(first, 1, Next::Nothing).await.expect("an answer");
    assert_eq!(chores.claim_one(session).await.id, second);
}

pub(crate) async fn a_cancelled_tick_is_followed_as_its_edit_says(world: World) {
    let chores = Chores::new(world).await;
    let (task, session, run) = begun(&chores).await;
    let planned = from_now(800);
    chores
        .edit(task, |edit| {
            edit.settings.schedule = Some("@weekly".into());
            (edit.next, edit.replan) = (Some(planned), true);
        })
        .await;
    chores.store.hand_back(session, &[(run.id, 1)]).await.expect("an answer");
    let old = tick(from_now(60));
    let seen = chores.store.cancel_task_run(run.id, 1, old).await.expect("an answer").expect("a run");
    assert_eq!(seen.status, TaskRunStatus::Cancelled);
    assert_eq!(next_of(&chores, task).await, Some(planned));
}

pub(crate) async fn late_ticks_wait_to_be_moved(world: World) {
    let chores = Chores::new(world).await;
    let grace = Duration::from_secs(60);
    let late: [TaskId; 4] = [
        chores.ticking(-5000).await,
        chores.ticking(-4000).await,
        chores.ticking(-3000).await,
        chores.ticking(-2000).await,
    ];
    let fresh = chores.ticking(-10).await;
    assert_eq!(chores.store.promote_due(grace, 10).await.expect("an answer").due, 1);
    assert_eq!(chores.runs(fresh).await.len(), 1);
    assert_eq!(chores.store.late_ticks(grace, 2).await.expect("an answer").len(), 2);
    let found = chores.store.late_ticks(grace, 10).await.expect("an answer");
    assert_eq!(found.len(), 4);
    let due: Vec<_> = found.iter().map(|tick| tick.due).collect();
    assert!(due.is_sorted() && found.iter().all(|tick| tick.now > tick.due && tick.plan.schedule.is_some()));
    let (past, to_come) = (from_now(-1000), from_now(1000));
    let moved = |number: usize, to| MovedTick { id: found[number].id, from: found[number].due, to };
    let elsewhere = MovedTick { from: from_now(-7), ..moved(3, Some(to_come)) };
    let moves = [moved(0, Some(past)), moved(1, Some(to_come)), moved(2, None), elsewhere];
    chores.store.move_ticks(&moves).await.expect("moved");
    // Whoever else looked at the same time moves nothing again.
    chores.store.move_ticks(&[moved(0, Some(from_now(-900))), moved(1, None)]).await.expect("moved");
    assert_eq!(next_of(&chores, late[1]).await, Some(to_come));
    assert_eq!(next_of(&chores, late[2]).await, None);
    let left = chores.store.late_ticks(grace, 10).await.expect("an answer");
    assert_eq!(left.iter().map(|tick| tick.id).collect::<Vec<_>>(), [found[3].id]);
    assert_eq!(chores.store.promote_due(grace, 10).await.expect("an answer").due, 1, "the one in the past");
    assert_eq!(chores.runs(late[0]).await[0].scheduled_for, past);
}

pub(crate) async fn of_many_that_are_due_one_is_ready(world: World) {
    let chores = Chores::new(world).await;
    let task = chores.ticking(-10).await;
    let session = chores.worker().await;
    // Three that are tried again, and the tick.
    let mut chains = Vec::new();
    for _ in 0..3 {
        chains.push(chores.ask(task).await);
        let run = chores.claim_one(session).await;
        chores.finish(session, &ended(&run, RunEnd::Failed, retry())).await;
    }
    assert_eq!(chores.promote().await, 4);
    let mut order = Vec::new();
    for left in (0..4).rev() {
        let busy = chores.runs(task).await;
        let busy = busy.iter().filter(|run| run.reason == Some(QueueReason::TaskBusy)).count();
        assert_eq!(busy, left);
        let claimed = chores.claim(session, 10).await;
        assert_eq!(claimed.len(), 1);
        order.push(claimed[0].chain);
        let next = if claimed[0].trigger == Trigger::Schedule { tick(from_now(3600)) } else { Next::Nothing };
        chores.finish(session, &ended(&claimed[0], RunEnd::Succeeded, next)).await;
    }
    assert_eq!(order[1..], chains, "the tick was due before them, and they in this order");
    assert_eq!(chores.claim(session, 10).await, []);
}

pub(crate) async fn of_many_who_promote_each_run_is_ready_once(world: World) {
    let chores = Chores::new(world).await;
    for _ in 0..3 {
        let mut tasks = Vec::new();
        for _ in 0..60 {
            tasks.push(chores.ticking(-10).await);
        }
        let calls = (0..6).map(|_| {
            let chores = chores.clone();
            tokio::spawn(async move {
                let mut due = 0;
                loop {
                    match chores.store.promote_due(HOUR, 7).await.expect("an answer") {
                        promoted if promoted.due == 0 => return due,
                        promoted => due += promoted.due,
                    }
                }
            })
        });
        let due: u32 = join_all(calls).await.into_iter().map(|due| due.expect("no panic")).sum();
        assert_eq!(due, 60);
        let session = chores.worker().await;
        let claimed = chores.claim(session, 100).await;
        assert_eq!(claimed.len(), 60);
        assert_eq!(claimed.iter().map(|run| run.task).collect::<BTreeSet<_>>(), tasks.into_iter().collect());
        let turns: BTreeSet<_> = claimed.iter().map(|run| run.turn).collect();
        assert!(turns.len() > 10, "they stand one behind the other");
    }
}
