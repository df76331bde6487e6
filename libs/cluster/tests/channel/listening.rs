//! The listener.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cluster::{ConnectError, Error, Listener, ListenerState, NotifierSettings, Session};
use domain::NodeId;
use futures_util::StreamExt;
use protocol::notify::Kind;
use testkit::postgres::TestDatabase;
use testkit::proxy::Proxy;
use tokio_postgres::AsyncMessage;
use uuid::Uuid;

use crate::node::{Ear, Heard, Mouth, by_hand, connector, in_time, quick, session, stream};
use crate::notifying::address;

const NODE: &str = "0190b4a5-0000-7000-8000-0000000000ff";

#[tokio::test]
async fn unknown_kinds_and_garbage_are_counted_and_passed_over() {
    let database = TestDatabase::empty().await;
    let mut ear = Ear::up(connector(&database.url()), NodeId::new()).await;
    let client = by_hand(&database.url()).await;
    let id = Uuid::from_u128(1);
    let payload = format!(
        "weather:{id}@{NODE} %% stream:{id}:1 listener.ping:{NODE}:9@{NODE} stream:{id}:2@{NODE} \
         weather:x@{NODE} task.due:{id}@{NODE}"
    );
    for payload in ["", &payload] {
        client.execute("SELECT pg_notify('ephemeral', $1)", &[&payload]).await.expect("sent");
    }
    assert_eq!(ear.entry().await, stream(1, 2));
    assert_eq!(ear.entry().await, (Kind::TaskDue, id.into(), None));
    assert_eq!((ear.metric("notify_unknown_total"), ear.metric("notify_malformed_total")), (2.0, 2.0));
    // With the ping of the other node, which is no unknown kind.
    assert_eq!(ear.metric("notify_received_total"), 3.0);
    ear.stop().await;
}

#[tokio::test]
async fn it_makes_round_trips_and_knows_that_it_is_well() {
    let database = TestDatabase::empty().await;
    let ear = Ear::up(connector(&database.url()), NodeId::new()).await;
    assert_eq!(
        (ear.metric("listener_connected"), *ear.state.borrow() == ListenerState::Connected),
        (1.0, true)
    );
    in_time("round trips", async {
        while ear.metric("listener_round_trip_seconds") < 3.0 {
            tokio::time::sleep(quick().check_interval).await;
        }
    })
    .await;
    assert!((0.0..0.5).contains(&ear.metric("notify_queue_usage")));
    // Never in a transaction, and only one connection is left of the self-test.
    let look = "SELECT count(*), count(*) FILTER (WHERE state = 'idle') FROM pg_stat_activity \
                WHERE datname = current_database() AND query LIKE '%pg_notification_queue_usage%' \
                AND pid <> pg_backend_pid()";
    let counts = database.query(look).await;
    assert_eq!(counts, [[Some("1".to_owned()), Some("1".to_owned())]]);
    ear.stop().await;
}

#[tokio::test]
async fn a_half_open_connection_is_noticed_and_replaced() {
    let database = TestDatabase::empty().await;
    let proxy = Proxy::start(address(&database.url()));
    let mut ear = Ear::up(connector(&proxy.url(&database.url())), NodeId::new()).await;
    let mouth = Mouth::start(connector(&database.url()), NotifierSettings::default());

    proxy.stall();
    mouth.say(1, 1);
    ear.expect(Heard::Disconnected).await;
    ear.until_away("took longer than").await;
    assert_eq!(ear.metric("listener_connected"), 0.0);

    proxy.cut();
    proxy.resume();
    ear.expect(Heard::Connected).await;
    mouth.say(1, 2);
    assert_eq!(ear.entry().await, stream(1, 2));
    assert_eq!((ear.metric("listener_connected"), ear.metric("listener_disconnects_total")), (1.0, 1.0));
    ear.stop().await;
}

#[tokio::test]
async fn a_server_that_takes_connections_and_says_nothing_holds_nobody_up() {
    let database = TestDatabase::empty().await;
    let proxy = Proxy::start(address(&database.url()));
    proxy.blackhole();
    let mut ear = Ear::start(connector(&proxy.url(&database.url())), NodeId::new(), quick());
    ear.until_away("connecting took longer than 2s").await;
    proxy.accept();
    ear.expect(Heard::Connected).await;
    ear.stop().await;
}

#[tokio::test]
async fn it_stops_at_once_wherever_it_is() {
    let database = TestDatabase::empty().await;
    let proxy = Proxy::start(address(&database.url()));
    let through = connector(&proxy.url(&database.url()));
    // In the middle of a pause.
    proxy.refuse();
    let mut ear = Ear::start(Arc::clone(&through), NodeId::new(), quick());
    ear.until_away("connecting failed").await;
    ear.stop().await;
    // In the middle of connecting.
    proxy.accept();
    proxy.blackhole();
    let ear = Ear::start(Arc::clone(&through), NodeId::new(), quick());
    proxy.until_accepted(1).await;
    ear.stop().await;
    // Listening: the receiver is told.
    proxy.accept();
    let mut ear = Ear::up(through, NodeId::new()).await;
    let heard = std::mem::replace(&mut ear.heard, tokio::sync::mpsc::unbounded_channel().1);
    ear.stop().await;
    let mut heard = heard;
    assert_eq!(heard.recv().await, Some(Heard::Disconnected));
    assert_eq!(heard.recv().await, None);
}

/// As behind a pooler in transaction mode: what the own statement brings along is passed on, but nothing comes between
/// statements.
#[tokio::test]
async fn a_pooler_that_forgets_listen_is_named() {
    let database = TestDatabase::empty().await;
    let (pooled, url) = (Arc::new(AtomicBool::new(true)), database.url());
    let is_pooled = Arc::clone(&pooled);
    let connect = move || {
        let (pooled, url) = (Arc::clone(&is_pooled), url.clone());
        async move {
            let Session { client, messages } = session(url).await?;
            let messages = messages.filter(move |message| {
                let forgotten = matches!(message, Ok(AsyncMessage::Notification(_)));
                std::future::ready(!(forgotten && pooled.load(Ordering::Relaxed)))
            });
            Ok::<_, ConnectError>(Session { client, messages: Box::pin(messages) })
        }
    };
    let connect = Arc::new(connect);
    let mut ear = Ear::start(Arc::clone(&connect) as _, NodeId::new(), quick());
    ear.until_away("pooler in transaction mode").await;
    assert_eq!(ear.metric("listener_connected"), 0.0);
    let probe = Listener::probe(Arc::clone(&connect) as _, quick()).await;
    assert!(matches!(probe, Err(Error::Unheard { .. })), "{probe:?}");
    pooled.store(false, Ordering::Relaxed);
    Listener::probe(connect, quick()).await.expect("nothing is in the way");
    // Away all the time until now: the first thing the receiver is told is that it is connected.
    ear.expect(Heard::Connected).await;
    ear.stop().await;
}
