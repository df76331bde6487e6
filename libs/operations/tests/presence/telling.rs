//! What connections are told, in which order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::{PersonStatus, RoomId, RoomKind, UserId};
use protocol::ServerFrame;
use protocol::frame::Subject;
use realtime::{Body, Fed, Feed, Relay};
use store::postgres::{DatabaseSettings, Postgres};
use store::presence::Evidence;
use store::rooms::NewRoom;
use testkit::proxy::Proxy;
use tokio_util::sync::CancellationToken;

use crate::stage::{Stage, database};

/// Reads what a connection is given, until something is in it or nothing comes for a while; gives the versions of a person.
async fn versions(feed: &mut Feed, of: UserId, patience: Duration) -> Option<Vec<u64>> {
    let mut batch = Vec::new();
    match tokio::time::timeout(patience, feed.next(&mut batch)).await {
        Ok(Fed::Frames) => {}
        Ok(Fed::Close(code)) => panic!("{code:?}"),
        Err(_) => return None,
    }
    let version = |frame: &Arc<realtime::Encoded>| match frame.body() {
        Body::Frame(ServerFrame::Presence(seen)) if seen.subject == Subject::User(of.0) => Some(seen.version),
        _ => None,
    };
    Some(batch.iter().filter_map(version).collect())
}

/// A connection that begins reads how people are seen while the relay tells what changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_connection_is_told_something_older_after_something_newer() {
    const CONNECTIONS: usize = 150;
    let database = database().await;
    let stage = Stage::at(&database.url(), 1000).await;
    let (alex, sam) = (stage.person().await, stage.person().await);
    let room = NewRoom {
        id: RoomId::new(),
        kind: RoomKind::Group,
        name: Some("Lunch".into()),
        creator: alex.0,
        members: vec![sam.0.into()],
        key: None,
    };
    stage.store.create_room(&room).await.expect("a room");
    let stop = CancellationToken::new();
    let metrics = realtime::RealtimeMetrics::register(&prometheus::Registry::new()).expect("metrics");
    // What the relay reads is old when it has it.
    let address = database.url().split('@').nth(1).and_then(|rest| rest.split('/').next()).map(str::to_owned);
    let proxy = Proxy::start(address.expect("an address").parse().expect("an address"));
    let slow = DatabaseSettings::with_url(proxy.url(&database.url()));
    let slow = Postgres::connect(&slow, &prometheus::Registry::new()).await.expect("the database answers");
    proxy.latency(Duration::from_millis(10));
    let relay = Relay::new(Arc::clone(&stage.hub), Arc::new(slow), Duration::from_secs(3600), metrics);
    let relaying = tokio::spawn(relay.run_people(200, stop.clone()));
    let over = Arc::new(AtomicBool::new(false));
    let changing = tokio::spawn({
        let (store, hub, over) = (Arc::clone(&stage.store), Arc::clone(&stage.hub), Arc::clone(&over));
        async move {
            let mut version = 0;
            while !over.load(Ordering::Relaxed) {
                let status = if version % 2 == 0 { PersonStatus::Online } else { PersonStatus::Idle };
                let changes = store.note_people(&[(sam.0, status)], Evidence::Whole).await.expect("noted");
                version = changes[0].version;
                hub.people().touch(sam.0);
            }
            version
        }
    });
    let mut followed = Vec::new();
    for _ in 0..CONNECTIONS {
        let (_, mut feed) = stage.begin(alex, None).await;
        let mut seen = Vec::new();
        while seen.is_empty() {
            seen.extend(versions(&mut feed, sam.0, Duration::from_secs(20)).await.expect("in time"));
        }
        followed.push((feed, seen));
    }
    over.store(true, Ordering::Relaxed);
    let last = changing.await.expect("no panic");
    for (feed, seen) in &mut followed {
        while seen.last() != Some(&last) {
            let more = versions(feed, sam.0, Duration::from_secs(20)).await;
            seen.extend(
                more.unwrap_or_else(|| panic!("the last change, {last}, is not told after {seen:?}")),
            );
        }
        assert!(seen.is_sorted(), "{seen:?}");
    }
    stop.cancel();
    relaying.await.expect("no panic");
}
