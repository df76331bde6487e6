//! Notifications and pushes in PostgreSQL: two transactions at once, in each order.

use std::path::Path;
use std::time::Duration;

use domain::AuthSessionId;
use domain::notification::Reason;
use store::push::Outcome;
use testkit::postgres::TestDatabase;
use tokio_postgres::Client;
use uuid::Uuid;

use super::log::{SOMEBODY_WAITS, beside, until, world};
use crate::suite::notice_scene::{Told, address, freed, rests, sent, so, waiting};
use crate::suite::people::HOUR;

/// With a connection for a transaction beside the store's, and one to see who waits: within a transaction that does not change.
async fn scene() -> (Told, TestDatabase, Client, Client) {
    let (world, database) = world().await;
    let (client, watch) = (beside(&database).await, beside(&database).await);
    (Told::new(world).await, database, client, watch)
}

/// Decides beside the store, in a transaction that stays open, that what a claim has is pushed.
async fn deciding(client: &Client, told: &Told, claim: Uuid) {
    let taken = told.undecided(claim).await;
    let ids: Vec<Uuid> = taken.iter().map(|one| one.notification.id.0).collect();
    let of = |text: &'static str| vec![Some(text); ids.len()];
    let none: Vec<Option<i64>> = vec![None; ids.len()];
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/postgres/push/decide.sql");
    let decide = std::fs::read_to_string(file).expect("a statement");
    client.batch_execute("BEGIN").await.expect("begun");
    let pushed = vec![true; ids.len()];
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 8] =
        [&claim, &ids, &of("decided"), &of("push_idle"), &none, &none, &pushed, &told.node.0];
    assert_eq!(client.query(&decide, &params).await.expect("decided").len(), ids.len());
}

/// A worker gives a device back while another decides on a push to it that is not committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_is_given_back_while_a_push_comes() {
    let (told, _database, client, watch) = scene().await;
    let device = told.subscribed(told.sam).await;
    for rested in [false, true] {
        told.pushed().await;
        let claim = Uuid::now_v7();
        let claimed = told.claim_one(claim).await;
        let second = told.notified().await;
        deciding(&client, &told, Uuid::now_v7()).await;
        let finished = if rested { rests(claim, &claimed, Duration::ZERO) } else { sent(claim, &claimed) };
        let finishing = tokio::spawn({
            let told = told.clone();
            async move { told.finish(&[finished]).await }
        });
        until(&watch, SOMEBODY_WAITS).await;
        client.batch_execute("COMMIT").await.expect("committed");
        assert_eq!(finishing.await.expect("no panic"), [device]);
        let claimed = told.claim_one(claim).await;
        assert_eq!(waiting(&claimed).last(), Some(&second));
        assert_eq!(waiting(&claimed).len(), 1 + usize::from(rested));
        assert_eq!(told.finish(&[sent(claim, &claimed)]).await, [device]);
        assert_eq!(told.claim(claim).await, []);
    }
}

/// A push is decided while a worker gives the device back and has not committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_push_comes_while_a_device_is_given_back() {
    let (told, _database, client, watch) = scene().await;
    let device = told.subscribed(told.sam).await;
    told.pushed().await;
    let claim = Uuid::now_v7();
    let claimed = told.claim_one(claim).await;
    assert_eq!(told.finish(&[sent(claim, &claimed)]).await, [device]);
    told.store.request_test(told.sam, device).await.expect("asked");
    told.claim_one(claim).await;
    let id = told.notified().await;
    let given_back =
        "BEGIN; UPDATE push_subscriptions SET claim = NULL, test_at = NULL, next_at = 'infinity'";
    client.batch_execute(given_back).await.expect("given back");
    let deciding = tokio::spawn({
        let told = told.clone();
        async move { told.settle(Outcome::Push(Reason::PushIdle)).await }
    });
    until(&watch, SOMEBODY_WAITS).await;
    assert_eq!(told.claim(Uuid::now_v7()).await, [], "a claim waits for nobody");
    client.batch_execute("COMMIT").await.expect("committed");
    assert_eq!(deciding.await.expect("no panic"), [id]);
    assert_eq!(waiting(&told.claim_one(claim).await), [id]);
}

/// A device gets another address, or a push to try it, while a push to it is decided that is not committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscription_changes_while_a_push_comes() {
    let (told, _database, client, watch) = scene().await;
    let device = told.subscribed(told.sam).await;
    for test in [false, true] {
        let id = told.notified().await;
        deciding(&client, &told, Uuid::now_v7()).await;
        let changing = tokio::spawn({
            let told = told.clone();
            async move {
                if test {
                    told.store.request_test(told.sam, device).await
                } else {
                    told.store.subscribe(told.sam, AuthSessionId::new(), device, &address()).await
                }
            }
        });
        until(&watch, SOMEBODY_WAITS).await;
        client.batch_execute("COMMIT").await.expect("committed");
        changing.await.expect("no panic").expect("changed");
        let claim = Uuid::now_v7();
        let claimed = told.claim_one(claim).await;
        assert_eq!((waiting(&claimed), claimed.is_test), (vec![id], test));
        assert_eq!(told.finish(&[sent(claim, &claimed)]).await, [device]);
    }
}

/// A person goes elsewhere while a decision on them is not committed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_meets_a_decision() {
    let (told, _database, client, watch) = scene().await;
    let id = told.notified().await;
    let claim = Uuid::now_v7();
    let taken = told.undecided(claim).await;
    client.batch_execute("BEGIN; SELECT FROM notification_queue FOR UPDATE").await.expect("locked");
    let (one, other) = (told.clone(), told.clone());
    let outcome = so(&taken[0], Outcome::Waits(Reason::Gateway, HOUR));
    let deciding = tokio::spawn(async move { one.decide(claim, &[outcome]).await });
    until(&watch, SOMEBODY_WAITS).await;
    let releasing = tokio::spawn(async move { other.store.release(&[other.sam]).await.expect("released") });
    let both = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' OFFSET 1";
    until(&watch, both).await;
    assert_eq!(told.undecided(Uuid::now_v7()).await, [], "a claim waits for nobody");
    client.batch_execute("COMMIT").await.expect("committed");
    // Whichever came first: it is decided again at once.
    let decided = deciding.await.expect("no panic");
    assert_eq!(releasing.await.expect("no panic"), 1);
    let again = told.undecided(claim).await;
    assert_eq!((again[0].notification.id, again[0].waited), (id, !decided.is_empty()));
}

/// Retention waits for nobody who has a notification.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_skips_what_is_held() {
    let (told, _database, client, _watch) = scene().await;
    let held = told.notified().await;
    told.notified().await;
    client.batch_execute("BEGIN").await.expect("begun");
    let lock = "SELECT id FROM notifications WHERE id = $1 FOR NO KEY UPDATE";
    client.query(lock, &[&held.0]).await.expect("locked");
    let trim = async || told.store.trim_notifications(Duration::ZERO, 100).await.expect("an answer");
    assert_eq!((trim().await, trim().await), (1, 0));
    assert_eq!(told.notices(told.sam).await.iter().map(|it| it.id).collect::<Vec<_>>(), [held]);
    client.batch_execute("ROLLBACK").await.expect("let go");
    assert_eq!(trim().await, 1);
}

/// A worker that was given a device whose pushes were trimmed gives it back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_trimmed_while_it_is_sent_is_passed_over() {
    let (told, _database, ..) = scene().await;
    let device = told.subscribed(told.sam).await;
    told.pushed().await;
    let claim = Uuid::now_v7();
    let claimed = told.claim_one(claim).await;
    told.store.trim_notifications(Duration::ZERO, 100).await.expect("trimmed");
    assert_eq!(told.finish(&[sent(claim, &claimed)]).await, [device]);
    assert_eq!(told.finish(&[freed(claim, device)]).await, []);
    assert_eq!(told.store.next_push().await.expect("an answer"), None);
}
