//! Runs that are asked for by calls, and those that are asked for while another ends.

use std::collections::BTreeSet;

use domain::TaskId;
use domain::task::{QueueReason, RunEnd, TaskRunStatus, Trigger};
use futures_util::future::{join, join_all};
use store::Refusal;
use store::queue::{ClaimedRun, Next};
use store::tasks::NewTaskRun;

use super::task_scene::{Chores, MANY, asked, done, ended, from_now, tick};
use super::world::{World, refused};

fn delivered(task: TaskId, delivery: &str) -> NewTaskRun {
    NewTaskRun {
        trigger: Trigger::Webhook,
        delivery: Some(delivery.into()),
        input: Some(b"{\"from\": \"0\xff\0\"}".to_vec()),
        ..asked(task)
    }
}

pub(crate) async fn a_delivery_queues_one_run(world: World) {
    let chores = Chores::new(world).await;
    for _ in 0..3 {
        let task = chores.task().await;
        let calls = (0..50).map(|_| {
            let chores = chores.clone();
            tokio::spawn(async move { chores.queue(&delivered(task, "one")).await.expect("queued") })
        });
        let queued: Vec<_> = join_all(calls).await.into_iter().map(|call| call.expect("no panic")).collect();
        let runs: BTreeSet<_> = queued.iter().map(|queued| queued.run).collect();
        assert_eq!(runs.len(), 1);
        assert_eq!(queued.iter().filter(|queued| !queued.repeated).count(), 1);
        assert_eq!(chores.runs(task).await.len(), 1);
    }
    let session = chores.worker().await;
    for run in chores.claim(session, 10).await {
        assert_eq!(run.delivery.as_deref(), Some("one"));
        assert_eq!(run.input.as_deref(), Some(b"{\"from\": \"0\xff\0\"}".as_slice()), "as it came");
        chores.finish(session, &done(&run)).await;
        // Also when it is over; another task's is another.
        let again = chores.queue(&delivered(run.task, "one")).await.expect("known");
        assert_eq!((again.run, again.repeated), (run.id, true));
        let other = chores.queue(&delivered(run.task, "two")).await.expect("queued");
        assert!(!other.repeated && other.run != run.id);
    }
}

pub(crate) async fn who_does_not_listen_queues_nothing(world: World) {
    let chores = Chores::new(world).await;
    let task = chores.task().await;
    let known = chores.queue(&delivered(task, "known")).await.expect("queued").run;
    chores.pause(task).await;
    let refusal = refused(chores.queue(&delivered(task, "new")).await);
    assert!(matches!(refusal, Refusal::Conflict(_)), "{refusal:?}");
    let again = chores.queue(&delivered(task, "known")).await.expect("known");
    assert_eq!((again.run, again.repeated), (known, true), "it was taken before");
    let by_hand = chores.ask(task).await;
    assert_eq!(chores.runs(task).await.len(), 2);
    // What was refused was not taken: it may come again.
    chores.edit(task, |edit| edit.settings.is_active = true).await;
    assert!(!chores.queue(&delivered(task, "new")).await.expect("queued").repeated);
    chores.store.delete_task(task).await.expect("deleted");
    for run in [asked(task), delivered(task, "known"), delivered(task, "other"), asked(TaskId::new())] {
        assert_eq!(refused(chores.queue(&run).await), Refusal::NotFound("task"));
    }
    let session = chores.worker().await;
    assert_eq!(chores.claim(session, 10).await, [], "what was queued is gone: {by_hand}");
}

pub(crate) async fn a_task_takes_so_many_and_no_more(world: World) {
    let chores = Chores::new(world).await;
    // Its tick is no queued run.
    let task = chores.ticking(1000).await;
    let few = |run: NewTaskRun| NewTaskRun { max_queued: 3, ..run };
    for number in 0..3 {
        let delivery = number.to_string();
        chores.queue(&few(delivered(task, &delivery))).await.expect("queued");
    }
    for run in [delivered(task, "3"), asked(task)] {
        let refusal = refused(chores.queue(&few(run)).await);
        assert!(matches!(refusal, Refusal::Conflict(_)), "{refusal:?}");
    }
    assert!(chores.queue(&few(delivered(task, "1"))).await.expect("known").repeated);
    assert_eq!(chores.runs(task).await.len(), 3);
    let session = chores.worker().await;
    let run = chores.claim_one(session).await;
    chores.finish(session, &done(&run)).await;
    assert!(!chores.queue(&few(delivered(task, "3"))).await.expect("there is room").repeated);
}

pub(crate) async fn what_is_no_text_leaves_nothing(world: World) {
    let chores = Chores::new(world).await;
    let task = chores.task().await;
    assert!(chores.queue(&delivered(task, "a\0b")).await.is_err());
    assert_eq!(chores.runs(task).await, []);
    let mut rubbish = super::task_scene::new_task(chores.alex);
    rubbish.settings.name = "a\0b".into();
    assert!(chores.store.create_task(&rubbish).await.is_err());
    assert_eq!(chores.store.task(chores.alex, rubbish.id).await.expect("an answer"), None);
    // What can't be recorded is not over, and neither is what was to be recorded with it; nothing else is claimed.
    let (one, two) = (chores.ask(task).await, chores.task().await);
    chores.ask(two).await;
    let session = chores.worker().await;
    let claimed = chores.claim(session, 2).await;
    let other = chores.task().await;
    chores.ask(other).await;
    let mut finished: Vec<_> = claimed.iter().map(done).collect();
    finished[1].output = Some("a\0b".into());
    let work = store::queue::Work { finished: &finished, budget: 5, floor: 0 };
    assert!(chores.store.work(session, work).await.is_err());
    assert_eq!(chores.run(one).await.status, TaskRunStatus::Running);
    assert_eq!(chores.stand(other).await, [TaskRunStatus::Queued]);
    finished[1].output = None;
    assert_eq!(chores.work(session, &finished, 5).await.finished.len(), 2);
}

/// Asking for a run while another of its task ends never leaves one that waits for nothing.
pub(crate) async fn asking_meets_an_end(world: World) {
    let chores = Chores::new(world).await;
    let (task, session) = (chores.ticking(-10).await, chores.worker().await);
    chores.promote().await;
    let mut run = chores.claim_one(session).await;
    for round in 0..120 {
        let next = if run.trigger == Trigger::Schedule { tick(from_now(3600)) } else { Next::Nothing };
        let end = ended(&run, RunEnd::Succeeded, next);
        let asks = 1 + round % 3;
        let asked = async {
            let calls = (0..asks).map(|_| {
                let chores = chores.clone();
                tokio::spawn(async move { chores.ask(task).await })
            });
            for call in join_all(calls).await {
                call.expect("no panic");
            }
        };
        let over = {
            let (chores, end) = (chores.clone(), end.clone());
            tokio::spawn(async move { chores.finish(session, &end).await })
        };
        let (over, ()) = if round % 2 == 0 {
            join(over, asked).await
        } else {
            (async {
                let ((), over) = join(asked, over).await;
                (over, ())
            })
            .await
        };
        over.expect("no panic");
        for left in (0..asks).rev() {
            let claimed = chores.claim(session, 5).await;
            assert_eq!(claimed.len(), 1, "round {round}: one is ready of {} that wait", left + 1);
            run = claimed.into_iter().next().expect("one");
            if left > 0 {
                chores.finish(session, &done(&run)).await;
            }
        }
    }
}

/// The same for a run that comes due, and one that is cancelled.
pub(crate) async fn what_waits_for_an_end_is_found(world: World) {
    let chores = Chores::new(world).await;
    let (task, session) = (chores.task().await, chores.worker().await);
    for round in 0..60 {
        chores.ask(task).await;
        let run = chores.claim_one(session).await;
        chores.finish(session, &ended(&run, RunEnd::Failed, super::task_scene::retry())).await;
        // The attempt comes due while another run is ended or cancelled.
        let other = chores.ask(task).await;
        let promote = {
            let chores = chores.clone();
            tokio::spawn(async move { chores.promote().await })
        };
        let over = if round % 2 == 0 {
            let run = chores.claim_one(session).await;
            let chores = chores.clone();
            tokio::spawn(async move { chores.finish(session, &done(&run)).await })
        } else {
            let chores = chores.clone();
            tokio::spawn(async move {
                let next = Next::Nothing;
                chores.store.cancel_task_run(other, 1, next).await.expect("an answer");
            })
        };
        let (promoted, over) = join(promote, over).await;
        over.expect("no panic");
        assert_eq!(promoted.expect("no panic"), 1);
        let again: ClaimedRun = chores.claim_one(session).await;
        assert_eq!((again.attempt, again.chain), (2, run.chain));
        chores.finish(session, &done(&again)).await;
    }
}

pub(crate) async fn what_its_finder_left_is_tidied(world: World) {
    let chores = Chores::new(world).await;
    let task = chores.task().await;
    let [one, two] = [chores.ask(task).await, chores.ask(task).await];
    assert_eq!(chores.store.tidy_queue(super::people::HOUR).await.expect("tidied"), 0);
    assert_eq!(chores.stands(one).await.1, Some(QueueReason::InLine));
    assert_eq!(chores.stands(two).await.1, Some(QueueReason::TaskBusy));
    assert_eq!(MANY, asked(task).max_queued);
}

/// Deleting a task that is claimed, handed back and asked for at this moment leaves nothing that runs on without being told.
pub(crate) async fn deleting_meets_everything(world: World) {
    let chores = Chores::new(world).await;
    for round in 0..40 {
        let task = chores.task().await;
        let first = chores.ask(task).await;
        let (one, two) = (chores.worker().await, chores.worker().await);
        let held = if round % 2 == 0 { Some(chores.claim_one(one).await) } else { None };
        let delete = {
            let chores = chores.clone();
            tokio::spawn(async move { chores.store.delete_task(task).await.expect("an answer") })
        };
        let busy = {
            let (chores, held) = (chores.clone(), held.clone());
            tokio::spawn(async move {
                match held {
                    Some(run) => {
                        chores.store.hand_back(one, &[(run.id, run.epoch)]).await.expect("an answer");
                        Vec::new()
                    }
                    None => chores.claim(two, 1).await,
                }
            })
        };
        let ask = {
            let chores = chores.clone();
            tokio::spawn(async move { chores.queue(&asked(task)).await.is_ok() })
        };
        assert!(delete.await.expect("no panic"));
        let claimed = busy.await.expect("no panic");
        ask.await.expect("no panic");
        for run in &claimed {
            let told = run.cancel_requested
                || chores.store.cancelled_runs(&[run.id]).await.expect("an answer") == [run.id];
            assert!(told, "round {round}: a run of a task that is gone goes on");
            chores.finish(two, &done(run)).await;
        }
        for run in chores.claim(two, 10).await {
            assert_eq!(run.id, first, "round {round}: what was asked for is gone");
            assert!(run.cancel_requested, "round {round}: not told");
            chores.finish(two, &done(&run)).await;
        }
        assert_eq!(chores.claim(two, 10).await, []);
        assert_eq!(chores.store.tidy_queue(super::people::HOUR).await.expect("tidied"), 0);
    }
}
