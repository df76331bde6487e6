//! Nodes that are told to stop.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use client::api::{NewMessage, Range};
use client::{Api, ApiError};
use domain::DeviceKind;
use futures_util::future::join_all;
use protocol::{Encoding, ServerFrame};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testkit::cluster::ClusterOptions;
use testkit::postgres::TestDatabase;
use testkit::proxy::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::sse::Sse;
use crate::wire::{Wire, body, stream};
use crate::world::{PATIENCE, Person, World};

const DRAINS: u16 = 1012;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_fifty_clients_of_a_gateway_that_drains_go_on_at_the_other_without_loss() {
    const CLIENTS: usize = 50;
    let world =
        World::with(|options| options.setting("shutdown.spread", "1s").setting("shutdown.deadline", "20s"))
            .await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut wires = Vec::new();
    for _ in 0..CLIENTS {
        let device = sam.new_device(DeviceKind::Web).await;
        wires.push(world.connect_device(&sam, device, 1).await);
    }
    let stop = AtomicBool::new(false);
    let talk = async {
        let mut said = 0;
        while !stop.load(Ordering::Relaxed) {
            alex.says(room, &format!("{said}")).await;
            said += 1;
        }
        for wire in 0..100 {
            alex.says(room, &format!("{}", said + wire)).await;
        }
        said + 100
    };
    let drain = async {
        let began = Instant::now();
        world.cluster.terminate("gateway-1");
        let moved = join_all(wires.into_iter().map(|wire| move_on(&world, &sam, wire))).await;
        stop.store(true, Ordering::Relaxed);
        (moved, began)
    };
    let (said, (moved, began)) = tokio::join!(talk, drain);
    for (mut wire, mut events) in moved {
        while events.len() < said {
            events.push(wire.event().await);
        }
        let bodies: Vec<String> = events.iter().map(body).collect();
        assert_eq!(bodies, (0..said).map(|n| n.to_string()).collect::<Vec<_>>());
        assert!(events.windows(2).all(|two| two[1].seq == two[0].seq + 1));
    }
    let mut world = world;
    let status = world.cluster.until_ended("gateway-1").await;
    assert!(status.success(), "{status}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    let log = world.cluster.log("gateway-1");
    assert!(!log.contains("aborted") && !log.contains("ERROR"), "{log}");
}

/// Reads until the node sends the client away, waits as it says, and resumes on the other. Gives the events so far.
async fn move_on(world: &World, person: &Person, mut wire: Wire) -> (Wire, Vec<protocol::frame::Event>) {
    let mut events = Vec::new();
    let after = loop {
        match wire.next().await {
            ServerFrame::Event(event) => events.push(event),
            ServerFrame::Drain(drain) => break Duration::from_millis(drain.after_ms),
            _ => {}
        }
    };
    assert_eq!(wire.closed().await, DRAINS);
    let mut cursors = wire.cursors();
    if let Some(last) = events.last() {
        cursors.insert(last.stream.clone(), last.seq).expect("a stream");
    }
    let session = wire.ready().session_id;
    drop(wire);
    tokio::time::sleep(after).await;
    let mut wire = world.hello(person, 2, Encoding::Json).await;
    wire.resume(session, cursors).await;
    for frame in wire.until_live().await {
        match frame {
            ServerFrame::Event(event) => events.push(event),
            other => panic!("in a replay: {other:?}"),
        }
    }
    (wire, events)
}

#[tokio::test]
async fn cluster_a_gateway_that_drains_says_so_and_takes_nobody_new() {
    let mut world = World::with(|options| {
        options
            .setting("shutdown.lead", "1s")
            .setting("shutdown.spread", "0s")
            .setting("shutdown.deadline", "10s")
    })
    .await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut wire = world.connect(&sam, 1).await;
    world.cluster.terminate("gateway-1");
    let reason = world.cluster.until_not_ready("gateway-1").await;
    assert!(reason.contains("told to stop"), "{reason}");
    let (live, _) = world.cluster.admin("gateway-1", "/healthz/live").await.expect("an answer");
    assert_eq!(live, 200);
    // In the lead it works on as before.
    wire.send(room, "still here", "n").await;
    let (mut sent, mut said) = (false, false);
    while !(sent && said) {
        match wire.next().await {
            ServerFrame::Sent(_) => sent = true,
            ServerFrame::Event(event) => said = body(&event) == "still here",
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(wire.closed().await, DRAINS);
    let ticket = sam.ticket().await;
    let refused = Wire::open(&world.cluster.gateway_url(1), &ticket, Encoding::Json).await.err();
    assert!(refused.is_some(), "nobody new is taken");
    assert!(world.cluster.until_ended("gateway-1").await.success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_an_api_node_that_stops_answers_what_it_has_begun() {
    let mut world = World::with(ClusterOptions::database_through_proxies).await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let mut stream_of_sam = Sse::open(&sam.at(&world, 1), Some(sam.device), None).await;
    let before = stream_of_sam.until_live().await;
    assert_eq!(before.len(), 2);

    // Requests that wait for the database when the node is told to stop.
    world.cluster.database_of("api-1").stall();
    let mut begun = Vec::new();
    for n in 0..20 {
        let body = json!({ "body": format!("{n}"), "nonce": format!("n{n}") });
        begun.push(begin_request(&alex.api, &format!("/v1/rooms/{room}/messages"), &body).await);
    }
    until_read_by(&world.cluster.api_url(1)).await;
    world.cluster.terminate("api-1");
    world.cluster.until_not_ready("api-1").await;
    world.cluster.database_of("api-1").resume();
    let mut seqs = Vec::new();
    for answer in begun {
        let (head, body) = end_request(answer).await;
        assert!(head.starts_with("HTTP/1.1 201"), "{head} {body}");
        seqs.push(body["event"]["seq"].as_u64().expect("a seq"));
    }
    seqs.sort_unstable();
    assert!(seqs.windows(2).all(|two| two[1] == two[0] + 1), "{seqs:?}");
    // The stream is told too, and goes on at the other node.
    assert_eq!(stream_of_sam.closed().await, u64::from(DRAINS));
    let status = world.cluster.until_ended("api-1").await;
    assert!(status.success(), "{status}");
    let mut back = Sse::open(&sam.at(&world, 2), Some(sam.device), stream_of_sam.last_id.as_deref()).await;
    back.until_live().await;
    let said = alex.at(&world, 2).send_message(room, &NewMessage::new("on")).await.expect("sent").event.seq;
    assert_eq!(back.event().await["seq"], said);
    let there = sam.api.events(room, &Range::After(seqs[0] - 1), Some(100)).await.expect("a page");
    assert_eq!(there.items.len(), 21);
    world.cluster.start_again("api-1").await;
    alex.api.me().await.expect("an answer of the node that is back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_clients_of_an_api_node_that_stops_lose_nothing() {
    const EACH: usize = 150;
    let mut world = World::start().await;
    let (alex, sam) = world.alex_and_sam().await;
    let room = alex.room("Lunch", &[&sam]).await;
    let send = |who: usize| {
        let (one, other) = (alex.at(&world, 1), alex.at(&world, 2));
        tokio::spawn(async move {
            let mut acknowledged = BTreeMap::new();
            for n in 0..EACH {
                let message =
                    NewMessage { nonce: format!("{who}.{n}"), ..NewMessage::new(format!("{who}.{n}")) };
                let sent = match one.send_message(room, &message).await {
                    Ok(sent) => sent,
                    // Gone, or on its way: the other node takes it, once.
                    Err(ApiError::Transport(_)) => other.send_message(room, &message).await.expect("sent"),
                    Err(other) => panic!("{other}"),
                };
                acknowledged.insert(message.body, sent.event);
            }
            acknowledged
        })
    };
    let sending: Vec<_> = (0..8).map(send).collect();
    until_head(&world, &sam, room, 200).await;
    let status = world.cluster.stop("api-1").await;
    assert!(status.success(), "{status}");
    let mut acknowledged = BTreeMap::new();
    for sent in sending {
        acknowledged.extend(sent.await.expect("a sender"));
    }
    let log = sam.api.events(room, &Range::After(0), Some(1000)).await.expect("a page").items;
    let more = sam.api.events(room, &Range::After(1000), Some(1000)).await.expect("a page").items;
    let said: Vec<_> = log.into_iter().chain(more).filter(|event| event.kind == "message.created").collect();
    assert_eq!(said.len(), 8 * EACH);
    for event in said {
        assert_eq!(acknowledged.get(&body(&event)), Some(&event));
    }
}

#[tokio::test]
async fn cluster_a_node_that_is_told_to_stop_while_it_starts_stops() {
    let database = TestDatabase::empty().await;
    let address = database.url().split('@').nth(1).and_then(|rest| rest.split('/').next()).map(str::to_owned);
    let proxy = Proxy::start(address.expect("an address").parse().expect("an address"));
    // It connects, and waits for an answer that does not come.
    proxy.stall();
    for role in ["api", "gateway", "worker"] {
        let before = proxy.accepted();
        let mut child = tokio::process::Command::new(env!("CARGO_BIN_EXE_switchboard"))
            .args(["node", role])
            .env("SWITCHBOARD__DATABASE__URL", proxy.url(&database.url()))
            .env("SWITCHBOARD__HTTP__LISTEN", "127.0.0.1:0")
            .env("SWITCHBOARD__GATEWAY__LISTEN", "127.0.0.1:0")
            .env("SWITCHBOARD__ADMIN__LISTEN", "127.0.0.1:0")
            .kill_on_drop(true)
            .spawn()
            .expect("a process");
        proxy.until_accepted(before + 1).await;
        let pid = child.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)).expect("a number");
        kill_process(pid, Signal::TERM).expect("it takes signals");
        let ended = timeout(Duration::from_secs(5), child.wait()).await.expect("in time").expect("its end");
        assert!(ended.success(), "{role}: {ended}");
    }
}

async fn until_head(world: &World, person: &Person, room: domain::RoomId, head: u64) {
    let mut wire = world.connect(person, 2).await;
    while wire.ready().streams[&stream(room)] < head && wire.event().await.seq < head {}
}

/// Sends a request over a connection of its own; [`end_request`] reads the answer.
async fn begin_request(api: &Api, path: &str, body: &Value) -> TcpStream {
    let address = api.base().trim_start_matches("http://").trim_end_matches('/');
    let (token, body) = (api.access_token().expect("a token"), body.to_string());
    let mut socket = TcpStream::connect(address).await.expect("a connection");
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    socket.write_all(request.as_bytes()).await.expect("sent");
    socket
}

async fn end_request(mut socket: TcpStream) -> (String, Value) {
    let mut answer = String::new();
    timeout(PATIENCE, socket.read_to_string(&mut answer)).await.expect("in time").expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    (head.to_owned(), serde_json::from_str(body).expect("JSON"))
}

/// Waits until a node has read all that was sent to it, which the kernel knows.
async fn until_read_by(url: &str) {
    let port: u16 = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let port = format!(":{port:04X}");
    let waiting = async {
        loop {
            let table = std::fs::read_to_string("/proc/net/tcp").expect("the kernel's table of sockets");
            let unread = table.lines().filter(|line| {
                let fields: Vec<&str> = line.split_whitespace().collect();
                // Local address, state (established), bytes to be sent and to be read.
                fields[1].ends_with(&port) && fields[3] == "01" && !fields[4].ends_with(":00000000")
            });
            if unread.count() == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("the node reads");
}
