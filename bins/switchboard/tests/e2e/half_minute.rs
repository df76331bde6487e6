//! The database is gone for half a minute, under a cluster that is in use.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::api::{NewMessage, Range};
use client::{Api, ApiError, Session, SessionSettings, SignIn};
use domain::{DeviceKind, RoomId};
use protocol::frame::Slot;
use testkit::postgres::OwnServer;
use tokio::time::sleep;

use crate::world::{Person, World};

const AWAY: Duration = Duration::from_secs(30);
const CLIENTS: usize = 60;
const SENDERS: usize = 6;
/// Connections of each node's pool; beside them it has one to tell others and one to hear them.
const POOL: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_half_a_minute_without_the_database_costs_nothing_and_ends_without_a_storm() {
    let mut server = OwnServer::durable().await;
    let database = server.database("half_minute").await.expect("a database");
    let mut world =
        World::at(database, |options| options.nodes(2, 2, 2).setting("database.pool_size", POOL.to_string()))
            .await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let sessions = sessions(&world, &sam).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let senders: Vec<_> = (0..SENDERS)
        .map(|n| tokio::spawn(send(alex.at(&world, 1 + n % 2), room, n, Arc::clone(&is_over))))
        .collect();
    let nodes: Vec<String> = world.cluster.names().into_iter().map(str::to_owned).collect();
    let pids: Vec<_> = nodes.iter().map(|node| world.cluster.pid(node)).collect();
    let before = connections(&world).await;

    server.stop().await.expect("stopped");
    let gone = Instant::now();
    for node in &nodes {
        world.cluster.until_not_ready(node).await;
    }
    sleep(AWAY.saturating_sub(gone.elapsed())).await;
    for node in &nodes {
        let (status, reason) = world.cluster.admin(node, "/healthz/ready").await.expect("an answer");
        assert_eq!(status, 503, "{node}: {reason}");
    }
    server.start_again().await.expect("back");
    let back = Instant::now();
    // How many there are, and how many there were in all since the server is back.
    let mut seen = Vec::new();
    while back.elapsed() < Duration::from_secs(10) {
        seen.push((back.elapsed(), connections(&world).await));
        sleep(Duration::from_millis(500)).await;
    }
    for node in &nodes {
        world.cluster.until_ready(node).await;
    }
    is_over.store(true, Ordering::Relaxed);

    let mut acknowledged = BTreeMap::new();
    for sender in senders {
        acknowledged.extend(sender.await.expect("a sender"));
    }
    let log = log(&sam, room).await;
    let kept: BTreeMap<String, u64> = log.iter().cloned().collect();
    assert_eq!((kept.len(), &kept), (log.len(), &acknowledged), "all that was acknowledged, once");
    for session in &sessions {
        session.live().await.expect("each client goes on");
    }
    assert_eq!(
        nodes.iter().map(|node| world.cluster.pid(node)).collect::<Vec<_>>(),
        pids,
        "no process ended"
    );
    let most = seen.iter().map(|(_, count)| *count).max().unwrap_or_default();
    let over_time: Vec<String> =
        seen.iter().map(|(at, count)| format!("{:.1} s {count}", at.as_secs_f64())).collect();
    println!(
        "connections of six nodes: {before} before the database went for {AWAY:?}; since it is back: {}",
        over_time.join(", ")
    );
    // A pool, one to tell, one to hear, and one more while that is set up.
    let bound = nodes.len() * (POOL + 3);
    assert!(most <= bound, "{most} connections, of {bound} at most");
}

async fn sessions(world: &World, sam: &Person) -> Vec<Session> {
    let mut sessions = Vec::new();
    for n in 0..CLIENTS {
        let device = sam.new_device(DeviceKind::Web).await;
        let tickets = SignIn::Tickets(vec![sam.at(world, 1 + n % 2)]);
        let gateways = vec![world.cluster.gateway_url(1 + n % 2)];
        let (session, mut updates) =
            Session::open(SessionSettings::new(gateways, tickets, Slot::Device(device.0)));
        tokio::spawn(async move { while updates.next().await.is_some() {} });
        session.live().await.expect("live");
        sessions.push(session);
    }
    sessions
}

/// Connections that nodes have to the database.
async fn connections(world: &World) -> usize {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
    let rows = world.sql(sql).await;
    rows[0][0].as_deref().and_then(|count| count.parse().ok()).expect("a number")
}

/// Sends one message after the other, each until it is acknowledged; the numbers by text.
async fn send(api: Api, room: RoomId, who: usize, is_over: Arc<AtomicBool>) -> BTreeMap<String, u64> {
    let mut acknowledged = BTreeMap::new();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let text = format!("{who}.{number}");
        let message = NewMessage { nonce: text.clone(), ..NewMessage::new(text.clone()) };
        let seq = loop {
            match api.send_message(room, &message).await {
                Ok(sent) => break sent.event.seq,
                Err(ApiError::Refused { status: 503 | 504, .. }) => sleep(Duration::from_millis(100)).await,
                Err(other) => panic!("{other}"),
            }
        };
        acknowledged.insert(text, seq);
    }
    acknowledged
}

/// Every message of a room: its text and its number.
async fn log(person: &Person, room: RoomId) -> Vec<(String, u64)> {
    let (mut said, mut after) = (Vec::new(), 0);
    loop {
        let page = person.api.events(room, &Range::After(after), Some(1000)).await.expect("a page").items;
        let Some(last) = page.last() else { return said };
        after = last.seq;
        let messages = page.iter().filter(|event| event.kind == "message.created");
        said.extend(messages.map(|event| (crate::wire::body(event), event.seq)));
    }
}
