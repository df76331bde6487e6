//! The log in PostgreSQL: locks, plans, copies of a database, lost answers.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::LogEpoch;
use futures_util::future::join_all;
use store::StoreError;
use store::log::Heads;
use store::postgres::{DatabaseSettings, connect, migrate};
use store::retention::EventLimits;
use testkit::postgres::{OwnServer, TestDatabase};
use testkit::proxy::Proxy;
use tokio_postgres::Client;

use super::{database, store};
use crate::suite::races;
use crate::suite::world::{World, assert_whole, message};
use crate::suite::{AnyStore, Subject};

const DAY: Duration = Duration::from_secs(86_400);

/// A store, and the database to look behind it.
pub(super) async fn world() -> (World, TestDatabase) {
    let database = database().await;
    let subject = Subject::new(store(&DatabaseSettings::with_url(database.url())).await, ());
    (subject.into(), database)
}

/// A connection that is none of the store's.
pub(super) async fn beside(database: &TestDatabase) -> Client {
    let settings = DatabaseSettings::with_url(database.url());
    let (client, connection) = connect(&settings, "beside").await.expect("a connection");
    tokio::spawn(connection);
    client
}

/// Waits until the statement gives a row.
pub(super) async fn until(client: &Client, sql: &str) {
    let waited = async {
        while client.query(sql, &[]).await.expect("an answer").is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waited).await.expect(sql);
}

pub(super) const SOMEBODY_WAITS: &str =
    "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";

/// Deadlocks are repeated and so not seen. Here the database never finds one: it would be a timeout.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn locks_are_taken_in_one_order() {
    let database = database().await;
    database.query(&format!("ALTER DATABASE {} SET deadlock_timeout = '10min'", database.name())).await;
    let settings = DatabaseSettings::with_url(database.url());
    let world = World::from(Subject::new(store(&settings).await, database));
    races::opposite_orders_do_not_deadlock(world.clone()).await;
    races::joining_and_leaving_agree_with_the_log(world.clone()).await;
    races::a_dm_asked_for_by_twenty_is_one(world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_prefix_that_is_old_goes() {
    let (world, database) = world().await;
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    for n in 2..=8 {
        world.say(room, alex, &n.to_string()).await;
    }
    // The clock was set back: 4 is young although 5 and 6 are old.
    let aged = format!(
        "UPDATE events SET at = at - interval '2 days' WHERE stream_id = '{room}' AND seq IN (1, 2, 3, 5, 6)"
    );
    database.query(&aged).await;
    let limits = EventLimits { max_age: DAY, max_per_stream: 0 };
    assert_eq!(world.store.trim_events(limits, 2).await.expect("an answer"), 2);
    assert_eq!(world.store.trim_events(limits, 100).await.expect("an answer"), 1);
    assert_eq!(world.store.trim_events(limits, 100).await.expect("an answer"), 0);
    let page = world.page(alex, room).await;
    let seqs: Vec<u64> = page.events.iter().map(|event| event.seq).collect();
    assert_eq!((page.floor, seqs), (3, vec![4, 5, 6, 7, 8]));
    let both = EventLimits { max_age: DAY, max_per_stream: 4 };
    // 4 by count; then 5 and 6 are the prefix, and old.
    for gone in [1, 2, 0] {
        assert_eq!(world.store.trim_events(both, 100).await.expect("an answer"), gone);
    }
    assert_eq!(world.page(alex, room).await.floor, 6, "where one limit ends the other goes on");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_in_use_is_passed_over() {
    let (world, database) = world().await;
    let alex = world.person().await;
    let rooms = [world.group(&[alex]).await, world.group(&[alex]).await];
    let limits = EventLimits { max_age: Duration::ZERO, max_per_stream: 1 };
    for room in rooms {
        world.say(room, alex, "hello").await;
    }
    let sender = beside(&database).await;
    sender.batch_execute("BEGIN").await.expect("begun");
    sender.execute("SELECT 1 FROM streams WHERE id = $1 FOR UPDATE", &[&rooms[0].0]).await.expect("locked");
    // Had it waited, it would have been a timeout.
    let trimmed = world.store.trim_events(limits, 100).await;
    assert_eq!(trimmed.expect("an answer"), 2, "of the other room, and of the inbox");
    sender.batch_execute("COMMIT").await.expect("committed");
    assert_eq!(world.store.trim_events(limits, 100).await.expect("an answer"), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copied_database_begins_an_epoch() {
    let (world, database) = world().await;
    let first = world.epoch().await;
    database.query("UPDATE log_state SET system_identifier = 'another/1'").await;
    let answers = join_all((0..8).map(|_| world.store.log_epoch())).await;
    let epochs: BTreeSet<LogEpoch> = answers.into_iter().map(|epoch| epoch.expect("an epoch")).collect();
    assert_eq!(epochs.len(), 1, "one of the nodes begins it for all");
    assert!(!epochs.contains(&first));
    assert_eq!(world.epoch().await, *epochs.first().expect("one"));

    // A clone, as tests have them: whoever opens it is in another life of the log.
    let (clone, _kept) = self::world().await;
    let Heads { log_epoch, .. } = clone.store.heads(&[]).await.expect("heads");
    assert_ne!(log_epoch, first);
}

/// Holds the room's lock until `waiting` says so, so that the fault happens while the call is in the database.
async fn with_room_locked(database: &TestDatabase, room: domain::RoomId) -> Client {
    let client = beside(database).await;
    client.batch_execute("BEGIN").await.expect("begun");
    client.execute("SELECT 1 FROM streams WHERE id = $1 FOR UPDATE", &[&room.0]).await.expect("locked");
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_whose_answer_is_lost_can_be_repeated() {
    let database = database().await;
    let config: tokio_postgres::Config = database.url().parse().expect("a URL");
    let proxy = Proxy::start(([127, 0, 0, 1], config.get_ports()[0]).into());
    let settings = DatabaseSettings::with_url(proxy.url(&database.url()));
    let world = World::from(Subject::new(store(&settings).await, ()));
    let alex = world.person().await;
    let room = world.group(&[alex]).await;
    world.say(room, alex, "the statements are prepared").await;

    let sent = message(room, alex, "once");
    let holder = with_room_locked(&database, room).await;
    let call = {
        let (world, sent) = (world.clone(), sent.clone());
        tokio::spawn(async move { world.store.append_messages(&[sent]).await })
    };
    until(&holder, SOMEBODY_WAITS).await;
    proxy.stall();
    holder.batch_execute("COMMIT").await.expect("released");
    // Everything was sent at once, COMMIT too: it is done without the client.
    until(&holder, &format!("SELECT 1 FROM events WHERE id = '{}'", sent.id)).await;
    proxy.cut();
    let outcome = call.await.expect("no panic");
    assert!(matches!(outcome, Err(StoreError::Unavailable(_))), "{outcome:?}");
    proxy.resume();

    let again = world.append(sent).await.expect("good");
    assert!(!again.fresh, "it was written before");
    let page = world.page(alex, room).await;
    assert_whole(&page);
    assert_eq!(page.head, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_send_that_is_given_up_leaves_nothing_half_done() {
    let (world, database) = world().await;
    let alex = world.person().await;
    let rooms = [world.group(&[alex]).await, world.group(&[alex]).await];
    let holder = with_room_locked(&database, rooms[0].max(rooms[1])).await;
    let call = {
        let world = world.clone();
        let batch = rooms.map(|room| message(room, alex, "given up"));
        tokio::spawn(async move { world.store.append_messages(&batch).await })
    };
    until(&holder, SOMEBODY_WAITS).await;
    call.abort();
    // The first room's lock goes with the call, although the second one's is never had.
    let free =
        format!("SELECT 1 FROM streams WHERE id = '{}' FOR UPDATE SKIP LOCKED", rooms[0].min(rooms[1]));
    until(&holder, &free).await;
    holder.batch_execute("COMMIT").await.expect("released");
    for room in rooms {
        assert_eq!(world.say(room, alex, "next").await.seq, 2);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_survives_a_crash() {
    let mut server = OwnServer::durable().await;
    let settings = DatabaseSettings::with_url(server.url());
    migrate(&settings).await.expect("migrated");
    let world = World::from(Subject::new(store(&settings).await, ()));
    let alex = world.person().await;
    let rooms = [world.group(&[alex]).await, world.group(&[alex]).await];
    let (acknowledged, mut first_hundred) = tokio::sync::watch::channel(0);
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let (world, acknowledged) = (world.clone(), acknowledged.clone());
            tokio::spawn(async move {
                let mut kept = Vec::new();
                loop {
                    let batch = rooms.map(|room| message(room, alex, "kept"));
                    let Ok(outcomes) = world.store.append_messages(&batch).await else { return kept };
                    kept.extend(outcomes.into_iter().map(|outcome| outcome.expect("good").event));
                    acknowledged.send_modify(|count| *count += 2);
                }
            })
        })
        .collect();
    first_hundred.wait_for(|count| *count >= 100).await.expect("writers");
    server.crash().await.expect("crashed");
    let mut kept = Vec::new();
    for writer in writers {
        kept.extend(writer.await.expect("no panic"));
    }
    server.start_again().await.expect("started again");
    let again: &dyn AnyStore = &*world.store;
    let mut found = Vec::new();
    for room in rooms {
        let events = again.events_since(&[(room.into(), 0)], u32::MAX).await.expect("events");
        let seqs: Vec<u64> = events.iter().map(|event| event.seq).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
        found.extend(events);
    }
    assert!(kept.len() >= 100 && kept.iter().all(|event| found.contains(event)));
}
