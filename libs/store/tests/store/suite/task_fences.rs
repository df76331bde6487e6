//! Nobody writes in the name of a run that is no longer theirs.

use domain::task::{RunEnd, TaskRunStatus};
use domain::{RunStatus, WorkerSessionId};
use futures_util::future::join_all;
use store::queue::{ClaimedRun, Fence, NOT_HELD, Next};
use store::{Refusal, StoreError};

use super::people::HOUR;
use super::scene::{Scene, new_run};
use super::task_scene::{Chores, done, ended, fence, from_now, retry, tick};
use super::world::{World, kinds, message, refused};

/// Everything that can be written in the name of a run is refused, and has written nothing.
async fn is_kept_out(chores: &Chores, scene: &Scene, fence: Fence, run: &ClaimedRun) {
    let follows = scene.run().await.id;
    let before = (chores.run(run.id).await, scene.events(scene.alex, scene.room).await.len());
    let store = &chores.store;
    let mut finished = done(run);
    finished.epoch = fence.epoch;
    assert_eq!(chores.work(fence.session, &[finished], 0).await.finished, [], "ended");
    let back = store.hand_back(fence.session, &[(run.id, fence.epoch)]).await.expect("an answer");
    assert_eq!(back, 0, "handed back");
    let posted = store.post_for_task(&fence, &message(scene.room, scene.alex, "late"), &[]).await;
    assert_eq!(refused(posted), Refusal::Conflict(NOT_HELD));
    let asked = store.create_run_for_task(&fence, &new_run(scene.room, scene.alex, scene.agent)).await;
    assert_eq!(refused(asked), Refusal::Conflict(NOT_HELD));
    let stopped = store.cancel_run_for_task(&fence, scene.alex, follows).await;
    assert_eq!(refused(stopped), Refusal::Conflict(NOT_HELD));
    assert!(!store.holds(&fence).await.expect("an answer"));
    let after = (chores.run(run.id).await, scene.events(scene.alex, scene.room).await.len());
    assert_eq!(before, after);
}

/// A run that is worked on by a session that is good.
async fn held(chores: &Chores) -> (WorkerSessionId, ClaimedRun) {
    let task = chores.task().await;
    chores.ask(task).await;
    let session = chores.worker().await;
    (session, chores.claim_one(session).await)
}

pub(crate) async fn who_holds_a_run_writes_in_its_name(world: World) {
    let scene = Scene::new(world.clone(), 1).await;
    let chores = Chores::new(world).await;
    let (session, run) = held(&chores).await;
    let fence = fence(session, &run);
    assert!(chores.store.holds(&fence).await.expect("an answer"));
    let said = message(scene.room, scene.alex, "good morning");
    let posted = chores.store.post_for_task(&fence, &said, &[]).await.expect("posted");
    assert!(posted.appended.fresh);
    let asked = new_run(scene.room, scene.alex, scene.agent);
    let created = chores.store.create_run_for_task(&fence, &asked).await.expect("asked for");
    assert_eq!((created.created, created.run.status), (true, RunStatus::Queued));
    let (stopped, told) =
        chores.store.cancel_run_for_task(&fence, scene.alex, created.run.id).await.expect("stopped");
    assert_eq!((stopped.id, stopped.status, told.len()), (created.run.id, RunStatus::Cancelled, 1));
    let events = scene.events(scene.alex, scene.room).await;
    assert!(kinds(&events).contains(&"message.created"));
    chores.finish(session, &done(&run)).await;
    is_kept_out(&chores, &scene, fence, &run).await;
}

pub(crate) async fn who_is_over_writes_nothing(world: World) {
    let scene = Scene::new(world.clone(), 1).await;
    let chores = Chores::new(world).await;
    let (session, run) = held(&chores).await;
    chores.expire(session).await;
    is_kept_out(&chores, &scene, fence(session, &run), &run).await;
    // Nor when the run has been taken up, nor when another has claimed what follows.
    let next = retry();
    assert_eq!(chores.lose(|| next).await, [run.id]);
    is_kept_out(&chores, &scene, fence(session, &run), &run).await;
    assert_eq!(chores.promote().await, 1);
    let other = chores.worker().await;
    let again = chores.claim_one(other).await;
    assert_eq!((again.attempt, again.chain, again.epoch), (2, run.chain, 1));
    is_kept_out(&chores, &scene, fence(session, &run), &run).await;
    is_kept_out(&chores, &scene, fence(session, &again), &again).await;
    assert_eq!(chores.stand(run.task).await, [TaskRunStatus::Running, TaskRunStatus::Lost]);
    chores.finish(other, &done(&again)).await;
    assert_eq!(chores.stand(run.task).await, [TaskRunStatus::Succeeded, TaskRunStatus::Lost]);
}

pub(crate) async fn another_number_or_worker_is_kept_out(world: World) {
    let scene = Scene::new(world.clone(), 1).await;
    let chores = Chores::new(world).await;
    let (session, run) = held(&chores).await;
    let good = fence(session, &run);
    let other = chores.worker().await;
    for wrong in [
        Fence { epoch: 0, ..good },
        Fence { epoch: 2, ..good },
        Fence { session: other, ..good },
        Fence { session: WorkerSessionId::new(), ..good },
    ] {
        is_kept_out(&chores, &scene, wrong, &run).await;
    }
    // Handed back and claimed again by the same session: the first claim is over.
    assert_eq!(chores.store.hand_back(session, &[(run.id, 1)]).await.expect("an answer"), 1);
    is_kept_out(&chores, &scene, good, &run).await;
    let again = chores.claim_one(session).await;
    is_kept_out(&chores, &scene, good, &run).await;
    chores.finish(session, &done(&again)).await;
}

pub(crate) async fn who_is_good_loses_nothing(world: World) {
    let chores = Chores::new(world).await;
    let (session, run) = held(&chores).await;
    assert_eq!(chores.store.lost_runs(10).await.expect("an answer"), []);
    let lost = ended(&run, RunEnd::Lost, retry());
    assert_eq!(chores.store.lose_runs(&[(session, lost.clone())]).await.expect("an answer"), []);
    // Who was found over, and is not the one that has it.
    let other = chores.worker().await;
    chores.expire(other).await;
    assert_eq!(chores.store.lose_runs(&[(other, lost.clone())]).await.expect("an answer"), []);
    chores.expire(session).await;
    let mut wrong = lost.clone();
    wrong.epoch = 2;
    assert_eq!(chores.store.lose_runs(&[(session, wrong)]).await.expect("an answer"), []);
    assert_eq!(chores.store.lose_runs(&[(session, lost)]).await.expect("an answer"), [run.id]);
}

pub(crate) async fn of_many_who_take_up_a_run_one_does(world: World) {
    let chores = Chores::new(world).await;
    for round in 0..10 {
        let task = chores.ticking(-10).await;
        chores.promote().await;
        let session = chores.worker().await;
        let run = chores.claim_one(session).await;
        chores.expire(session).await;
        let lost = ended(&run, RunEnd::Lost, Next::Nothing);
        let at = from_now(3600);
        let calls = (0..8).map(|number| {
            let (chores, mut lost) = (chores.clone(), lost.clone());
            lost.next = if number % 2 == round % 2 { retry() } else { tick(at) };
            tokio::spawn(async move { chores.store.lose_runs(&[(session, lost)]).await.expect("an answer") })
        });
        let lost: Vec<_> =
            join_all(calls).await.into_iter().flat_map(|lost| lost.expect("no panic")).collect();
        assert_eq!(lost, [run.id]);
        assert!(chores.see(task).await.next_run_at.is_some());
        chores.store.delete_task(task).await.expect("deleted");
    }
}

/// Ending a run and taking it up: one of them, and what follows is there once.
pub(crate) async fn an_end_and_a_loss_agree(world: World) {
    let chores = Chores::new(world).await;
    for _ in 0..10 {
        let task = chores.ticking(-10).await;
        chores.promote().await;
        let session = chores.worker().await;
        let run = chores.claim_one(session).await;
        let end = {
            let (chores, end) = (chores.clone(), ended(&run, RunEnd::Succeeded, tick(from_now(3600))));
            tokio::spawn(async move { chores.work(session, &[end], 0).await.finished.len() })
        };
        chores.expire(session).await;
        let lost = chores.lose(retry).await.len();
        let end = end.await.expect("no panic");
        assert_eq!(lost + end, 1);
        let over = if lost == 1 { TaskRunStatus::Lost } else { TaskRunStatus::Succeeded };
        assert_eq!(chores.run(run.id).await.status, over);
        assert!(chores.see(task).await.next_run_at.is_some());
        chores.store.delete_task(task).await.expect("deleted");
    }
}

pub(crate) async fn who_hangs_is_taken_from(world: World) {
    let chores = Chores::new(world).await;
    let mut short = super::task_scene::new_task(chores.alex);
    short.settings.max_runtime = std::time::Duration::ZERO;
    chores.make(&short).await;
    chores.ask(short.id).await;
    let session = chores.worker().await;
    let hanging = chores.claim_one(session).await;
    chores.task().await;
    let (long, _) = (chores.task().await, ());
    chores.ask(long).await;
    let working = chores.claim_one(session).await;
    assert_eq!(chores.store.tidy_queue(HOUR).await.expect("tidied"), 0, "within the grace");
    assert_eq!(chores.store.tidy_queue(std::time::Duration::ZERO).await.expect("tidied"), 1);
    assert_eq!(chores.store.tidy_queue(std::time::Duration::ZERO).await.expect("tidied"), 0);
    let seen = chores.run(hanging.id).await;
    assert_eq!((seen.status, seen.node, seen.lease_expires_at), (TaskRunStatus::Running, None, None));
    let answer: Result<bool, StoreError> = chores.store.holds(&fence(session, &hanging)).await;
    assert!(!answer.expect("an answer"));
    assert!(chores.store.holds(&fence(session, &working)).await.expect("an answer"));
    assert_eq!(chores.work(session, &[done(&hanging)], 0).await.finished, []);
    assert_eq!(chores.lose(retry).await, [hanging.id]);
    chores.promote().await;
    assert_eq!(chores.claim_one(session).await.attempt, 2, "the session is good for others");
}

pub(crate) async fn what_a_worker_does_not_know_is_handed_back(world: World) {
    let chores = Chores::new(world).await;
    let (session, other) = (chores.worker().await, chores.worker().await);
    for _ in 0..4 {
        let task = chores.task().await;
        chores.ask(task).await;
    }
    let another = chores.claim_one(other).await;
    let claimed = chores.claim(session, 3).await;
    let known: Vec<_> = claimed.iter().take(1).map(|run| run.id).collect();
    assert_eq!(chores.store.hand_back_unknown(session, &known).await.expect("an answer"), 2);
    assert!(chores.store.holds(&fence(session, &claimed[0])).await.expect("an answer"));
    assert!(chores.store.holds(&fence(other, &another)).await.expect("an answer"));
    assert_eq!(chores.claim(other, 10).await.len(), 2);
    chores.expire(session).await;
    assert_eq!(chores.store.hand_back_unknown(session, &[]).await.expect("an answer"), 0, "it is over");
    assert_eq!(chores.lose(retry).await, known);
}
