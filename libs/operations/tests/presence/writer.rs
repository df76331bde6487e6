//! Writers of two nodes on one database.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use domain::{DeviceKind, PersonStatus, UserId};
use operations::PresenceNotes;
use realtime::MemoryView;
use store::postgres::{DatabaseSettings, connect};
use testkit::postgres::TestDatabase;
use testkit::proxy::Proxy;

use crate::stage::{Stage, TTL, database};

async fn beside(database: &TestDatabase, sql: &str) {
    let settings = DatabaseSettings::with_url(database.url());
    let (client, connection) = connect(&settings, "beside").await.expect("a connection");
    tokio::spawn(connection);
    client.batch_execute(sql).await.expect(sql);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_is_seen_over_all_nodes() {
    let database = database().await;
    let (mut one, mut other) =
        (Stage::at(&database.url(), 1000).await, Stage::at(&database.url(), 1000).await);
    one.settle().await;
    let alex = one.person().await;
    let (here, there) = (one.live(alex, None).await, other.live(alex, None).await);
    one.writer.flush().await;
    assert_eq!(one.said.take(), [alex.0]);
    other.writer.flush().await;
    assert_eq!(other.said.take(), [], "nothing new");
    here.look(None, true);
    one.writer.flush().await;
    assert_eq!(one.noted(alex.0).await, Some((PersonStatus::Online, 1)), "in use on the other node");
    other.close(&there);
    other.writer.flush().await;
    assert_eq!(other.said.take(), [alex.0]);
    assert_eq!(one.noted(alex.0).await, Some((PersonStatus::Idle, 2)));
    one.close(&here);
    one.writer.flush().await;
    assert_eq!(one.noted(alex.0).await, Some((PersonStatus::Offline, 3)));
    assert_eq!(one.said.take(), [alex.0]);
}

/// What a crash of the database does to the table.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_an_emptied_table_come_back_with_one_flush_and_nobody_is_told() {
    let database = database().await;
    let (mut one, mut other) =
        (Stage::at(&database.url(), 1000).await, Stage::at(&database.url(), 1000).await);
    one.settle().await;
    let alex = one.person().await;
    let (here, _there) = (one.live(alex, None).await, other.live(alex, None).await);
    here.look(None, true);
    one.writer.flush().await;
    other.writer.flush().await;
    assert_eq!(one.noted(alex.0).await, Some((PersonStatus::Online, 2)));
    one.said.take();
    other.said.take();
    beside(&database, "TRUNCATE gateway_presence, presence_epoch").await;
    // By this node alone Alex would be idle.
    one.writer.flush().await;
    one.operations.reap_presence().await.expect("reaped");
    one.operations.check_people(None).await.expect("checked");
    other.writer.flush().await;
    assert_eq!(one.noted(alex.0).await, Some((PersonStatus::Online, 2)));
    assert_eq!((one.said.take(), other.said.take()), (vec![], vec![]));
    let seen = one.store.live_people(&[alex.0], TTL).await.expect("an answer");
    assert_eq!(seen.people[&alex.0].len(), 2);
    assert!(seen.settles_in.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_slept_does_not_bring_back_who_went_elsewhere() {
    let database = database().await;
    let (mut slept, mut other) =
        (Stage::at(&database.url(), 1000).await, Stage::at(&database.url(), 1000).await);
    slept.settle().await;
    let (alex, sam) = (slept.person().await, slept.person().await);
    let device = slept.device(alex.0, DeviceKind::Desktop).await;
    let _old = slept.live(alex, Some(device)).await;
    let _stays = slept.live(sam, None).await;
    slept.writer.flush().await;
    // Its rows are older than they may be.
    beside(&database, "UPDATE gateway_presence SET updated_at = now() - interval '1 hour'").await;
    let reaped = other.operations.reap_presence().await.expect("reaped");
    assert_eq!(reaped.rows, 2);
    let new = other.live(alex, Some(device)).await;
    other.writer.flush().await;
    assert_eq!(other.noted(alex.0).await, Some((PersonStatus::Online, 3)));
    slept.writer.flush().await;
    assert_eq!(other.noted(sam.0).await, Some((PersonStatus::Online, 3)), "there all the time");
    let seen = other.store.live_people(&[alex.0], TTL).await.expect("an answer");
    let there: Vec<_> = seen.people[&alex.0].iter().map(|live| live.connection).collect();
    assert_eq!(there, [new.connection.meta.id]);
    other.close(&new);
    other.writer.flush().await;
    slept.writer.flush().await;
    assert_eq!(other.noted(alex.0).await, Some((PersonStatus::Offline, 4)), "no ghost");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_leaves_everybody_until_they_are_back_and_a_stop_clears_the_rest() {
    let database = database().await;
    let (mut one, mut other) =
        (Stage::at(&database.url(), 1000).await, Stage::at(&database.url(), 1000).await);
    one.settle().await;
    let (alex, sam) = (one.person().await, one.person().await);
    let device = one.device(alex.0, DeviceKind::Web).await;
    let (sent_away, closed) = (one.live(alex, Some(device)).await, one.live(sam, None).await);
    one.writer.flush().await;
    one.send_away(&sent_away);
    one.close(&closed);
    one.writer.end().await;
    assert_eq!(one.noted(alex.0).await, Some((PersonStatus::Online, 1)));
    assert_eq!(one.noted(sam.0).await, Some((PersonStatus::Offline, 2)));
    let back = other.live(alex, Some(device)).await;
    other.writer.flush().await;
    assert_eq!(other.said.take(), [], "nobody noticed");
    other.close(&back);
    other.writer.flush().await;
    assert_eq!(other.noted(alex.0).await, Some((PersonStatus::Offline, 2)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_could_not_be_written_is_written_later_and_told() {
    let database = database().await;
    let address = database.url().split('@').nth(1).and_then(|rest| rest.split('/').next()).map(str::to_owned);
    let proxy = Proxy::start(address.expect("an address").parse().expect("an address"));
    let other = Stage::at(&database.url(), 1000).await;
    let mut stage = Stage::at(&proxy.url(&database.url()), 1000).await;
    stage.settle().await;
    let (alex, sam) = (stage.person().await, stage.person().await);
    let (stays, goes) = (stage.live(alex, None).await, stage.live(sam, None).await);
    stage.writer.flush().await;
    assert_eq!(HashSet::from_iter(stage.said.take()), HashSet::from([alex.0, sam.0]));
    stays.look(None, true);
    stage.close(&goes);
    proxy.cut();
    proxy.refuse();
    stage.writer.flush().await;
    stage.writer.flush().await;
    proxy.accept();
    stage.writer.flush().await;
    other.settle().await;
    stage.writer.flush().await;
    other.operations.check_people(None).await.expect("checked");
    assert_eq!(other.noted(alex.0).await, Some((PersonStatus::Idle, 2)));
    assert_eq!(other.noted(sam.0).await, Some((PersonStatus::Offline, 2)));
    let told: HashSet<UserId> = stage.said.take().into_iter().chain(other.said.take()).collect();
    assert_eq!(told, HashSet::from([alex.0, sam.0]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_changes_are_told_in_parts() {
    let database = database().await;
    let mut stage = Stage::at(&database.url(), 3).await;
    let mut people = HashSet::new();
    let mut live = Vec::new();
    for _ in 0..8 {
        let person = stage.person().await;
        live.push(stage.live(person, None).await);
        people.insert(person.0);
    }
    let mut told = Vec::new();
    for expected in [3, 3, 2, 0] {
        stage.writer.flush().await;
        let said = stage.said.take();
        assert_eq!(said.len(), expected);
        told.extend(said);
    }
    assert_eq!((told.len(), told.into_iter().collect()), (8, people));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_notes_people_without_rows() {
    let database = database().await;
    let stage = Stage::at(&database.url(), 1000).await;
    let (alex, sam) = (stage.person().await, stage.person().await);
    let window = Duration::from_millis(500);
    let notes = |stage: &Stage| -> PresenceNotes {
        let view = MemoryView::new(Arc::clone(&stage.hub), window);
        let metrics = operations::PresenceMetrics::register(&prometheus::Registry::new()).expect("metrics");
        stage.operations.presence_notes(Arc::new(view), metrics)
    };
    // Those of a process before this one.
    let both = [(alex.0, PersonStatus::Online), (sam.0, PersonStatus::Online)];
    stage.store.note_people(&both, store::presence::Evidence::Whole).await.expect("noted");
    let mut process = notes(&stage);
    let live = stage.live(alex, None).await;
    live.look(None, true);
    process.flush().await;
    assert_eq!(stage.noted(alex.0).await, Some((PersonStatus::Online, 1)), "they may be elsewhere still");
    assert_eq!(stage.noted(sam.0).await, Some((PersonStatus::Online, 1)));
    tokio::time::sleep(window).await;
    process.flush().await;
    assert_eq!(stage.noted(alex.0).await, Some((PersonStatus::Idle, 2)));
    assert_eq!(stage.noted(sam.0).await, Some((PersonStatus::Offline, 2)));
    assert_eq!(HashSet::from_iter(stage.said.take()), HashSet::from([alex.0, sam.0]));
    stage.close(&live);
    process.flush().await;
    assert_eq!(stage.noted(alex.0).await, Some((PersonStatus::Offline, 3)));
    process.flush().await;
    assert_eq!(stage.said.take(), [alex.0]);
}
