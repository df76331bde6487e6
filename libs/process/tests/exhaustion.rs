//! Out of file descriptors. A test binary of its own, because the limit is that of the whole process.

#![allow(clippy::expect_used, reason = "a test that can't go on fails")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use process::http::{ServeSettings, Server};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio_util::sync::CancellationToken;

const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_listener_without_file_descriptors_serves_on_as_soon_as_it_has_some() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    let mut waiting = TcpStream::connect(address).expect("the operating system takes it");
    waiting.set_read_timeout(Some(Duration::from_millis(300))).expect("takes a timeout");

    let before = getrlimit(Resource::Nofile);
    let none = Rlimit { current: Some(3), maximum: before.maximum };
    setrlimit(Resource::Nofile, none).expect("lowered");
    let router = Router::new().route("/", get(|| async { "served" }));
    let shutdown = CancellationToken::new();
    let server = Server::new("test", listener, router, ServeSettings::default());
    let server = tokio::spawn(server.run(shutdown.clone(), LIMIT));

    let (waiting, early) = tokio::task::spawn_blocking(move || {
        waiting.write_all(b"GET / HTTP/1.1\r\nhost: example.com\r\nconnection: close\r\n\r\n").expect("sent");
        let early = waiting.read(&mut [0; 1]);
        (waiting, early)
    })
    .await
    .expect("joined");
    assert!(early.is_err(), "nothing can be accepted now, but something was: {early:?}");
    assert!(!server.is_finished(), "a failed accept ends no listener");

    setrlimit(Resource::Nofile, before).expect("raised");
    let answer = tokio::task::spawn_blocking(move || read_all(waiting)).await.expect("joined");
    assert!(answer.ends_with("served"), "{answer}");
    shutdown.cancel();
    server.await.expect("stopped");
}

fn read_all(mut socket: TcpStream) -> String {
    socket.set_read_timeout(Some(LIMIT)).expect("takes a timeout");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("served once there are file descriptors");
    answer
}
