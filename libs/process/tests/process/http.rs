//! The served connection: its limits, its upgrade, its end.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use hyper_util::rt::TokioIo;
use process::http::{ServeSettings, Server, Slot};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::wire::{LIMIT, Wire, listen};

/// What handlers tell the test, and what it lets them do.
#[derive(Clone)]
struct Stage {
    entered: mpsc::UnboundedSender<()>,
    leave: CancellationToken,
}

struct Running {
    address: SocketAddr,
    entered: mpsc::UnboundedReceiver<()>,
    leave: CancellationToken,
    leaving: CancellationToken,
    shutdown: CancellationToken,
    server: JoinHandle<()>,
}

async fn run(settings: ServeSettings, deadline: Duration) -> Running {
    let (listener, address) = listen().await;
    let (entered, receiver) = mpsc::unbounded_channel();
    let (leave, shutdown) = (CancellationToken::new(), CancellationToken::new());
    let router = Router::new()
        .route("/peer", get(|ConnectInfo(peer): ConnectInfo<SocketAddr>| async move { peer.to_string() }))
        .route("/slow", get(slow))
        .route("/panic", get(|| async { panic!("a handler that panics") as () }))
        .route("/echo", get(echo))
        .with_state(Stage { entered, leave: leave.clone() });
    let leaving = CancellationToken::new();
    let server = Server::new("test", listener, router, settings).leaving(leaving.clone());
    let server = tokio::spawn(server.run(shutdown.clone(), deadline));
    Running { address, entered: receiver, leave, leaving, shutdown, server }
}

async fn slow(State(stage): State<Stage>) -> &'static str {
    let _ = stage.entered.send(());
    stage.leave.cancelled().await;
    "done"
}

/// Upgrades and echoes, holding the slot until the socket closes.
async fn echo(State(stage): State<Stage>, mut request: Request) -> impl IntoResponse {
    let slot = request.extensions().get::<Slot>().expect("every request has one").clone();
    let upgrade = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let upgraded = upgrade.await.expect("upgraded");
        let parts = upgraded.downcast::<TokioIo<TcpStream>>().expect("the bare socket");
        assert!(parts.read_buf.is_empty(), "this client waits for the answer");
        let mut socket = parts.io.into_inner();
        let _ = stage.entered.send(());
        let mut buffer = [0; 64];
        while let Ok(read @ 1..) = socket.read(&mut buffer).await {
            socket.write_all(&buffer[..read]).await.expect("echoed");
        }
        drop((socket, slot));
        let _ = stage.entered.send(());
    });
    (StatusCode::SWITCHING_PROTOCOLS, [(header::CONNECTION, "upgrade"), (header::UPGRADE, "echo")])
}

const UPGRADE: &str =
    "GET /echo HTTP/1.1\r\nhost: example.com\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n";

async fn left(server: JoinHandle<()>) {
    tokio::time::timeout(LIMIT, server).await.expect("stopped in time").expect("without a panic");
}

#[tokio::test]
async fn handlers_see_the_peer_and_connections_are_reused() {
    let running = run(ServeSettings::default(), LIMIT).await;
    let mut wire = Wire::connect(running.address).await;
    let own = wire.0.local_addr().expect("connected").to_string();
    for _ in 0..2 {
        wire.get("/peer").await;
        assert!(wire.read_until(&own).await.starts_with("HTTP/1.1 200"));
    }
}

#[tokio::test]
async fn a_half_sent_header_is_given_up() {
    let settings =
        ServeSettings { header_read_timeout: Duration::from_millis(50), ..ServeSettings::default() };
    let running = run(settings, LIMIT).await;
    let mut wire = Wire::connect(running.address).await;
    wire.send("GET /peer HTTP/1.1\r\nhost: exam").await;
    wire.read_to_end().await;
    let mut silent = Wire::connect(running.address).await;
    assert_eq!(silent.read_to_end().await, "", "a peer that says nothing is closed too");
}

#[tokio::test]
async fn a_handler_that_panics_takes_only_its_connection_along() {
    let running = run(ServeSettings::default(), LIMIT).await;
    let mut wire = Wire::connect(running.address).await;
    wire.get("/panic").await;
    assert_eq!(wire.read_to_end().await, "");
    let mut wire = Wire::connect(running.address).await;
    wire.get("/peer").await;
    wire.read_until("127.0.0.1").await;
}

#[tokio::test]
async fn a_stop_lets_requests_finish_and_closes_idle_connections() {
    let mut running = run(ServeSettings::default(), LIMIT).await;
    let mut idle = Wire::connect(running.address).await;
    idle.get("/peer").await;
    idle.read_until("127.0.0.1").await;
    let mut busy = Wire::connect(running.address).await;
    busy.get("/slow").await;
    running.entered.recv().await.expect("handler entered");

    running.shutdown.cancel();
    assert_eq!(idle.read_to_end().await, "", "idle connections are closed");
    assert!(TcpStream::connect(running.address).await.is_err(), "nothing new is accepted");
    assert!(!running.server.is_finished(), "a request is still running");
    running.leave.cancel();
    assert!(busy.read_to_end().await.ends_with("done"));
    left(running.server).await;
}

#[tokio::test]
async fn once_the_node_leaves_an_answer_ends_its_connection() {
    let running = run(ServeSettings::default(), LIMIT).await;
    let mut wire = Wire::connect(running.address).await;
    wire.get("/peer").await;
    wire.read_until("127.0.0.1").await;
    running.leaving.cancel();
    wire.get("/peer").await;
    let answer = wire.read_to_end().await;
    assert!(answer.contains("connection: close") && answer.contains("127.0.0.1"), "{answer}");
    let mut next = Wire::connect(running.address).await;
    next.get("/peer").await;
    assert!(next.read_to_end().await.contains("127.0.0.1"), "others are still served");
}

#[tokio::test]
async fn who_connected_before_the_listener_closed_is_answered() {
    // One after the other they meet the moment in which it closes.
    for _ in 0..10 {
        let running = run(ServeSettings::default(), LIMIT).await;
        let mut wires = Vec::new();
        for _ in 0..10 {
            wires.push(Wire::connect(running.address).await);
        }
        running.leaving.cancel();
        running.shutdown.cancel();
        for wire in &mut wires {
            wire.get("/peer").await;
        }
        for wire in &mut wires {
            let answer = wire.read_to_end().await;
            assert!(answer.contains("127.0.0.1"), "{answer:?}");
        }
        left(running.server).await;
    }
}

#[tokio::test]
async fn what_stays_past_the_deadline_is_cut_off() {
    let mut running = run(ServeSettings::default(), Duration::from_millis(50)).await;
    let mut busy = Wire::connect(running.address).await;
    busy.get("/slow").await;
    running.entered.recv().await.expect("handler entered");
    running.shutdown.cancel();
    left(running.server).await;
    assert_eq!(busy.read_to_end().await, "");
}

#[tokio::test]
async fn over_the_limit_is_refused_until_a_place_is_free() {
    let settings = ServeSettings { max_connections: 1, ..ServeSettings::default() };
    let mut running = run(settings, LIMIT).await;
    let mut upgraded = Wire::connect(running.address).await;
    upgraded.send(UPGRADE).await;
    upgraded.read_until("\r\n\r\n").await;
    running.entered.recv().await.expect("upgraded");
    upgraded.send("hello").await;
    assert_eq!(upgraded.read_until("hello").await, "hello");

    let mut refused = Wire::connect(running.address).await;
    assert!(refused.read_to_end().await.starts_with("HTTP/1.1 503"), "the upgraded socket holds the place");

    drop(upgraded);
    running.entered.recv().await.expect("slot is free");
    let mut next = Wire::connect(running.address).await;
    next.get("/peer").await;
    next.read_until("127.0.0.1").await;
}

#[tokio::test]
async fn an_upgraded_connection_outlives_the_server() {
    let mut running = run(ServeSettings::default(), LIMIT).await;
    let mut upgraded = Wire::connect(running.address).await;
    upgraded.send(UPGRADE).await;
    upgraded.read_until("\r\n\r\n").await;
    running.entered.recv().await.expect("upgraded");
    running.shutdown.cancel();
    left(running.server).await;
    upgraded.send("still here").await;
    assert_eq!(upgraded.read_until("still here").await, "still here");
}
