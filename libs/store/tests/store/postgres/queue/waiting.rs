//! Writes that waited for another see what it wrote; and none waits for ever.

use domain::task::{RunEnd, TaskRunStatus};
use jiff::Timestamp;
use store::postgres::DatabaseSettings;
use testkit::postgres::TestDatabase;

use super::super::log::{SOMEBODY_WAITS, beside, until, world};
use super::super::{database, store};
use crate::suite::people::HOUR;
use crate::suite::task_scene::{Chores, done, ended, from_now, retry, tick};
use crate::suite::world::World;
use crate::suite::{Subject, task_calls, task_claims, task_fences, task_ticks};

/// Ends a run, whose tick is followed by one in an hour, while `meanwhile` is under way; what the work answered.
async fn ends_after(meanwhile: &str) -> (Chores, usize, Option<Timestamp>, TestDatabase) {
    let (world, database) = world().await;
    let chores = Chores::new(world).await;
    let task = chores.ticking(-10).await;
    chores.promote().await;
    let session = chores.worker().await;
    let run = chores.claim_one(session).await;
    let (blocker, observer) = (beside(&database).await, beside(&database).await);
    blocker.batch_execute(&format!("BEGIN; {meanwhile}")).await.expect("written");
    let end = {
        let (chores, end) = (chores.clone(), ended(&run, RunEnd::Succeeded, tick(from_now(3600))));
        tokio::spawn(async move { chores.work(session, &[end], 0).await.finished.len() })
    };
    until(&observer, SOMEBODY_WAITS).await;
    blocker.batch_execute("COMMIT").await.expect("released");
    let finished = end.await.expect("no panic");
    let next = chores.see(task).await.next_run_at;
    (chores, finished, next, database)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_waited_for_an_edit_is_followed_as_it_says() {
    let at = from_now(777);
    let edit = format!("UPDATE tasks SET version = 2, planned_by = 2, planned_for = '{at}'");
    let (_, finished, next, _) = ends_after(&edit).await;
    assert_eq!((finished, next), (1, Some(at)));
    let pause = "UPDATE tasks SET version = 2, planned_by = 2, planned_for = NULL, is_active = false";
    let (_, finished, next, _) = ends_after(pause).await;
    assert_eq!((finished, next), (1, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_waited_for_a_cancel_counts() {
    let cancel = "UPDATE task_queue SET cancel_requested_at = now() WHERE state = 'running'";
    let (_, finished, next, _) = ends_after(cancel).await;
    assert!(finished == 1 && next.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_waited_for_a_loss_does_not_count() {
    let lost =
        "UPDATE task_queue SET worker_id = '00000000-0000-0000-0000-000000000000' WHERE state = 'running'";
    let (chores, finished, _, _database) = ends_after(lost).await;
    assert_eq!(finished, 0);
    assert_eq!(chores.lose(retry).await.len(), 1);
}

/// A write in the name of a run that takes long keeps others from taking the run, but not its worker from renewing its lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_takes_long_holds_the_run_and_not_the_lease() {
    let (world, database) = world().await;
    let chores = Chores::new(world).await;
    let task = chores.task().await;
    chores.ask(task).await;
    let session = chores.worker().await;
    let run = chores.claim_one(session).await;
    let (writer, observer) = (beside(&database).await, beside(&database).await);
    let hold = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/postgres/queue/hold.sql"));
    writer.batch_execute(&format!("PREPARE hold AS {hold}; BEGIN")).await.expect("begun");
    let held = writer.query(&format!("EXECUTE hold('{session}', '{}', 1)", run.id), &[]).await.expect("held");
    assert_eq!(held.len(), 1);
    assert!(chores.store.renew_worker(session, HOUR).await.expect("an answer"));
    chores.expire(session).await;
    let lose = {
        let chores = chores.clone();
        tokio::spawn(async move { chores.lose(retry).await })
    };
    until(&observer, SOMEBODY_WAITS).await;
    assert_eq!(chores.run(run.id).await.status, TaskRunStatus::Running);
    writer.batch_execute("COMMIT").await.expect("written");
    assert_eq!(lose.await.expect("no panic"), [run.id]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_ends_hands_back_what_it_is_just_claiming() {
    let (world, database) = world().await;
    let chores = Chores::new(world).await;
    let task = chores.task().await;
    let run = chores.ask(task).await;
    let session = chores.worker().await;
    let (claimer, observer) = (beside(&database).await, beside(&database).await);
    let claim = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/sql/postgres/queue/claim.sql"));
    claimer.batch_execute(&format!("PREPARE claim AS {claim}; BEGIN")).await.expect("begun");
    claimer.query(&format!("EXECUTE claim('{session}', 5, 0)"), &[]).await.expect("claimed");
    let close = {
        let chores = chores.clone();
        tokio::spawn(async move { chores.store.close_worker(session).await.expect("closed") })
    };
    until(&observer, SOMEBODY_WAITS).await;
    claimer.batch_execute("COMMIT").await.expect("claimed");
    assert_eq!(close.await.expect("no panic"), 1);
    let other = chores.worker().await;
    let again = chores.claim_one(other).await;
    assert_eq!((again.id, again.attempt), (run, 1));
    chores.finish(other, &done(&again)).await;
}

/// A database that never finds a deadlock: it would be a timeout.
async fn without_deadlocks() -> World {
    let database = database().await;
    database.query(&format!("ALTER DATABASE {} SET deadlock_timeout = '10min'", database.name())).await;
    let store = store(&DatabaseSettings::with_url(database.url())).await;
    Subject::new(store, database).into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_of_the_queue_are_taken_in_one_order() {
    task_calls::asking_meets_an_end(without_deadlocks().await).await;
    task_calls::what_waits_for_an_end_is_found(without_deadlocks().await).await;
    task_calls::a_delivery_queues_one_run(without_deadlocks().await).await;
    task_calls::deleting_meets_everything(without_deadlocks().await).await;
    task_fences::of_many_who_take_up_a_run_one_does(without_deadlocks().await).await;
    task_fences::an_end_and_a_loss_agree(without_deadlocks().await).await;
    task_claims::a_run_is_claimed_once_however_many_claim(without_deadlocks().await).await;
    task_ticks::of_many_who_promote_each_run_is_ready_once(without_deadlocks().await).await;
}
