//! The notifier.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cluster::NotifierSettings;
use domain::NodeId;
use futures_util::StreamExt;
use protocol::notify::{Kind, MAX_PAYLOAD, entries};
use testkit::postgres::TestDatabase;
use testkit::proxy::Proxy;
use tokio::sync::Semaphore;
use tokio_postgres::AsyncMessage;
use uuid::Uuid;

use crate::node::{Ear, Mouth, by_hand, connector, in_time, session, stream};

#[tokio::test]
async fn what_one_node_says_another_hears() {
    let database = TestDatabase::empty().await;
    let mouth = Mouth::start(connector(&database.url()), NotifierSettings::default());
    let mut other = Ear::up(connector(&database.url()), NodeId::new()).await;
    let mut own = Ear::up(connector(&database.url()), mouth.node).await;

    mouth.say(1, 7);
    assert_eq!(other.entry().await, stream(1, 7));
    let (room, user) = (Uuid::from_u128(2), Uuid::from_u128(3));
    mouth.notifier.notify(Kind::Typing, (room, user), None);
    assert_eq!(other.entry().await, (Kind::Typing, (room, user).into(), None));
    let key: protocol::notify::Id = "2026-01-a".parse().expect("good");
    mouth.notifier.notify(Kind::KeyRotated, key.clone(), None);
    assert_eq!(other.entry().await, (Kind::KeyRotated, key, None));

    // A node ignores its own: the first thing its own listener hands over is what someone else says.
    let someone = Mouth::start(connector(&database.url()), NotifierSettings::default());
    someone.say(4, 1);
    assert_eq!(own.entry().await, stream(4, 1));

    assert_eq!((mouth.metric("notify_sent_total"), mouth.metric("notify_dropped_total")), (3.0, 0.0));
    mouth.stop().await;
    someone.stop().await;
}

/// A connection that is made only when the test says so.
fn gated(url: &str) -> (Arc<dyn cluster::Connect>, Arc<Semaphore>) {
    let (gate, url) = (Arc::new(Semaphore::new(0)), url.to_owned());
    let at_gate = Arc::clone(&gate);
    let connect = move || {
        let (gate, url) = (Arc::clone(&at_gate), url.clone());
        async move {
            gate.acquire().await?.forget();
            session(url).await
        }
    };
    (Arc::new(connect), gate)
}

#[tokio::test]
async fn waiting_entries_coalesce_within_a_bound() {
    let database = TestDatabase::empty().await;
    let (connect, gate) = gated(&database.url());
    let settings = NotifierSettings {
        max_pending: 10,
        connect_timeout: Duration::from_secs(60),
        ..NotifierSettings::default()
    };
    let mouth = Mouth::start(connect, settings);
    let mut ear = Ear::up(connector(&database.url()), NodeId::new()).await;
    for version in (1..1000).chain([1000, 3, 2]) {
        mouth.say(0, version);
    }
    for n in 1..15 {
        mouth.say(n, 1);
    }
    assert_eq!((mouth.notifier.pending(), mouth.metric("notify_dropped_total")), (10, 5.0));

    gate.add_permits(1);
    let mut heard = HashMap::new();
    for _ in 0..10 {
        let (_, id, version) = ear.entry().await;
        assert_eq!(heard.insert(id, version), None);
    }
    let expected: HashMap<_, _> =
        (0..10).map(|n| (Uuid::from_u128(n).into(), Some(if n == 0 { 1000 } else { 1 }))).collect();
    assert_eq!(heard, expected);
    mouth.until("notify_sent_total", 10.0).await;
    assert_eq!(mouth.metric("notify_batch_size"), 1.0, "one statement");
}

/// Each statement wakes every node: a busy one tells in few what comes within a moment, and one that tells one thing after the other does not wait.
#[tokio::test]
async fn a_busy_node_gathers_what_it_tells() {
    let interval = Duration::from_secs(1);
    let database = TestDatabase::empty().await;
    let settings = NotifierSettings { min_interval: interval, ..NotifierSettings::default() };
    let mouth = Mouth::start(connector(&database.url()), settings);
    let mut ear = Ear::up(connector(&database.url()), NodeId::new()).await;
    let began = Instant::now();
    for version in 1..=20 {
        mouth.say(0, version);
        assert_eq!(ear.entry().await, stream(0, version));
        mouth.until("notify_sent_total", version as f64).await;
    }
    assert!(began.elapsed() < 10 * interval, "it waited between them");

    // One that tells two things, and what comes within a second of it.
    mouth.say(0, 20);
    mouth.say(0, 21);
    assert_eq!(ear.entry().await, stream(0, 21));
    let busy = Instant::now();
    mouth.until("notify_sent_total", 21.0).await;
    for version in 22..=100 {
        mouth.say(0, version);
        tokio::task::yield_now().await;
    }
    assert_eq!(ear.entry().await, stream(0, 100), "the newest alone");
    assert!(busy.elapsed() > interval / 2);
    mouth.until("notify_sent_total", 22.0).await;
    // Told to stop, it does not wait.
    mouth.say(1, 1);
    mouth.stop().await;
    assert_eq!(ear.entry().await, stream(1, 1));
}

#[tokio::test]
async fn a_burst_of_many_ids_is_packed_and_nothing_is_lost() {
    const IDS: u128 = 100_000;
    let database = TestDatabase::empty().await;
    let mut raw = session(database.url()).await.expect("the database answers");
    let listen = raw.client.batch_execute("LISTEN ephemeral");
    let mut payloads: Vec<String> = Vec::new();
    let mut listen = std::pin::pin!(listen);
    loop {
        tokio::select! {
            done = &mut listen => break done.expect("listening"),
            _ = raw.messages.next() => {}
        }
    }

    let mouth = Mouth::start(connector(&database.url()), NotifierSettings::default());
    let node = mouth.node.uuid();
    let say = async {
        for n in 0..IDS {
            mouth.say(n, 1);
            // Let the notifier take a share now and then, and say some of it again.
            if n % 10_000 == 0 {
                tokio::task::yield_now().await;
                mouth.say(n / 2, u64::MAX);
            }
        }
    };
    let mut seen: HashMap<_, Option<u64>> = HashMap::new();
    let hear = async {
        while seen.len() < IDS as usize || seen.values().filter(|v| **v == Some(u64::MAX)).count() < 10 {
            let Some(Ok(AsyncMessage::Notification(heard))) = raw.messages.next().await else {
                panic!("the connection ended");
            };
            for entry in entries(heard.payload()) {
                let entry = entry.expect("a good entry");
                assert_eq!(entry.node, node);
                let highest = seen.entry(entry.id).or_default();
                *highest = entry.version.max(*highest);
            }
            payloads.push(heard.payload().to_owned());
        }
    };
    in_time("the burst", async { tokio::join!(say, hear) }).await;
    assert_eq!(mouth.metric("notify_dropped_total"), 0.0);
    assert!(payloads.iter().all(|payload| payload.len() <= MAX_PAYLOAD));
    // An entry is some 84 bytes: ninety in a payload, if they are filled.
    assert!(payloads.len() < IDS as usize / 80, "{} payloads", payloads.len());
    mouth.until("notify_sent_total", IDS as f64).await;
    assert!(mouth.metric("notify_batch_size") < 100.0, "{} statements", mouth.metric("notify_batch_size"));
    assert_eq!(mouth.metric("notify_errors_total"), 0.0);
}

#[tokio::test]
async fn what_is_said_while_away_is_sent_when_back() {
    let database = TestDatabase::empty().await;
    let proxy = Proxy::start(address(&database.url()));
    let mouth = Mouth::start(connector(&proxy.url(&database.url())), NotifierSettings::default());
    let mut ear = Ear::up(connector(&database.url()), NodeId::new()).await;
    mouth.say(1, 1);
    assert_eq!(ear.entry().await, stream(1, 1));

    // Lost while idle: noticed without being told to send.
    proxy.refuse();
    proxy.cut();
    mouth.until("notify_errors_total", 2.0).await;
    mouth.say(1, 2);
    mouth.say(1, 3);
    proxy.accept();
    assert_eq!(ear.entry().await, stream(1, 3));

    // Lost in silence, in the middle of a statement.
    proxy.stall();
    mouth.say(1, 4);
    let errors = mouth.metric("notify_errors_total");
    mouth.until("notify_errors_total", errors + 1.0).await;
    mouth.say(1, 5);
    proxy.resume();
    // The statement that was given up may still arrive, the newest version does in any case.
    while ear.entry().await != stream(1, 5) {}
    mouth.stop().await;
}

#[tokio::test]
async fn a_stop_sends_what_waits_and_never_hangs() {
    let database = TestDatabase::empty().await;
    let proxy = Proxy::start(address(&database.url()));
    let mut ear = Ear::up(connector(&database.url()), NodeId::new()).await;
    // Stopped before it ever had a connection.
    let mouth = Mouth::start(connector(&proxy.url(&database.url())), NotifierSettings::default());
    mouth.say(1, 1);
    mouth.stop().await;
    assert_eq!(ear.entry().await, stream(1, 1));

    let mouth = Mouth::start(connector(&proxy.url(&database.url())), NotifierSettings::default());
    mouth.say(2, 1);
    assert_eq!(ear.entry().await, stream(2, 1));
    proxy.stall();
    mouth.say(2, 2);
    let started = Instant::now();
    mouth.stop().await;
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}

#[tokio::test]
async fn alone_there_is_nobody_to_tell() {
    let notifier = cluster::Notifier::alone();
    notifier.notify(Kind::Stream, Uuid::nil(), Some(1));
    assert_eq!(notifier.pending(), 0);
}

/// Whoever holds the lock that NOTIFY takes at commit holds up every notifier of the cluster. Its own limit ends the
/// wait, and the connection is kept.
#[tokio::test]
async fn a_commit_lock_that_is_held_delays_and_loses_nothing() {
    let server = testkit::postgres::OwnServer::with(|dir| {
        // A standby has to be possible, so that one can be waited for.
        localpg::Options::throw_away(dir)
            .setting("wal_level", "replica")
            .setting("max_wal_senders", "2")
            .setting("synchronous_commit", "on")
    })
    .await;
    let url = server.database("held").await.expect("a database");
    let proxy = Proxy::start(address(&url));
    let mouth = Mouth::start(connector(&proxy.url(&url)), NotifierSettings::default());
    let mut ear = Ear::up(connector(&url), NodeId::new()).await;
    mouth.say(1, 1);
    assert_eq!(ear.entry().await, stream(1, 1));

    // A commit with NOTIFY waits for a synchronous standby that never comes, holding the lock.
    let admin = by_hand(&url).await;
    admin.batch_execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'").await.expect("set");
    admin.batch_execute("SELECT pg_reload_conf()").await.expect("reloaded");
    let holder = by_hand(&url).await;
    let hold = tokio::spawn(async move {
        let sql = "BEGIN; CREATE TABLE t (); NOTIFY elsewhere; COMMIT";
        holder.batch_execute(sql).await
    });
    let waiting = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    let pid: i32 = in_time("the holder", async {
        loop {
            if let Some(row) = admin.query_opt(waiting, &[]).await.expect("answered") {
                return row.get(0);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    mouth.say(1, 2);
    mouth.until("notify_errors_total", 1.0).await;
    mouth.say(1, 3);
    admin.execute("SELECT pg_cancel_backend($1)", &[&pid]).await.expect("answered");
    assert_eq!(ear.entry().await, stream(1, 3));
    assert_eq!(proxy.accepted(), 1, "the connection is kept");
    in_time("the holder's end", hold).await.expect("no panic").expect("committed after all");
}

pub(crate) fn address(url: &str) -> std::net::SocketAddr {
    let config: tokio_postgres::Config = url.parse().expect("a good URL");
    let tokio_postgres::config::Host::Tcp(host) = &config.get_hosts()[0] else { panic!("TCP") };
    format!("{host}:{}", config.get_ports()[0]).parse().expect("an address")
}
