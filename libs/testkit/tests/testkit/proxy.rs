//! Each fault of the proxy, seen from both ends.

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use testkit::postgres::OwnServer;
use testkit::proxy::Proxy;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Long enough to say that nothing comes.
const SILENCE: Duration = Duration::from_millis(150);

/// The two ends of one connection through a proxy.
struct Line {
    proxy: Proxy,
    listener: TcpListener,
    client: TcpStream,
    server: TcpStream,
}

async fn line() -> Line {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let proxy = Proxy::start(listener.local_addr().expect("an address"));
    let client = TcpStream::connect(proxy.addr()).await.expect("connected");
    let (server, _) = listener.accept().await.expect("accepted");
    Line { proxy, listener, client, server }
}

async fn comes(stream: &mut TcpStream, expected: &str) {
    let mut bytes = vec![0; expected.len()];
    timeout(Duration::from_secs(10), stream.read_exact(&mut bytes)).await.expect("in time").expect("read");
    assert_eq!(String::from_utf8_lossy(&bytes), expected);
}

async fn is_silent(stream: &mut TcpStream) {
    let read = timeout(SILENCE, stream.read_u8()).await;
    assert!(read.is_err(), "{read:?}");
}

async fn is_reset(stream: &mut TcpStream) {
    let read = timeout(Duration::from_secs(10), stream.read_u8()).await.expect("in time");
    assert_eq!(read.expect_err("an end").kind(), io::ErrorKind::ConnectionReset);
}

async fn is_ended(stream: &mut TcpStream) {
    let read = timeout(Duration::from_secs(10), stream.read_u8()).await.expect("in time");
    assert_eq!(read.expect_err("an end").kind(), io::ErrorKind::UnexpectedEof);
}

#[tokio::test]
async fn without_faults_it_passes_everything_and_the_end() {
    let Line { proxy, listener: _listener, mut client, mut server } = line().await;
    client.write_all(b"hello").await.expect("sent");
    comes(&mut server, "hello").await;
    client.shutdown().await.expect("half closed");
    is_ended(&mut server).await;
    let much = vec![7; 3_000_000];
    let (sent, received) = tokio::join!(
        async {
            server.write_all(&much).await.expect("sent");
            drop(server);
        },
        async {
            let mut received = Vec::new();
            client.read_to_end(&mut received).await.expect("read");
            received
        }
    );
    let () = sent;
    assert!(received == much, "{} bytes", received.len());
    proxy.until_open(0).await;
    assert_eq!(proxy.accepted(), 1);
}

#[tokio::test]
async fn cut_resets_both_ends_and_only_those_there_were() {
    let Line { proxy, listener, mut client, mut server } = line().await;
    assert_eq!(proxy.open(), 1);
    proxy.cut();
    assert_eq!(proxy.open(), 0);
    is_reset(&mut client).await;
    is_reset(&mut server).await;
    let mut client = TcpStream::connect(proxy.addr()).await.expect("connected");
    let (mut server, _) = listener.accept().await.expect("accepted");
    client.write_all(b"again").await.expect("sent");
    comes(&mut server, "again").await;
    assert_eq!((proxy.open(), proxy.accepted()), (1, 2));
}

#[tokio::test]
async fn a_reset_is_passed_on() {
    let Line { proxy: _proxy, listener: _listener, client, mut server } = line().await;
    client.set_zero_linger().expect("to be reset");
    drop(client);
    is_reset(&mut server).await;
}

#[tokio::test]
async fn stall_keeps_everything_open_and_resume_loses_nothing() {
    let Line { proxy, listener, mut client, mut server } = line().await;
    proxy.stall();
    client.write_all(b"up").await.expect("sent");
    server.write_all(b"down").await.expect("sent");
    is_silent(&mut client).await;
    is_silent(&mut server).await;
    let second = TcpStream::connect(proxy.addr()).await.expect("connected");
    let (mut second_server, _) = listener.accept().await.expect("accepted");
    drop(second);
    is_silent(&mut second_server).await;
    assert_eq!(proxy.open(), 2, "the end of a connection passes a stalled line");
    proxy.resume();
    comes(&mut client, "down").await;
    comes(&mut server, "up").await;
    is_ended(&mut second_server).await;
}

#[tokio::test]
async fn a_stalled_line_takes_little() {
    let Line { proxy, listener: _listener, client: _client, mut server } = line().await;
    proxy.stall();
    let mut taken = 0;
    while let Ok(written) = timeout(SILENCE, server.write(&[0; 65536])).await {
        taken += written.expect("sent");
        assert!(taken < 16 << 20, "it takes everything");
    }
    proxy.cut();
    is_reset(&mut server).await;
}

#[tokio::test]
async fn arrivals_are_refused_or_swallowed_and_the_rest_goes_on() {
    let Line { proxy, listener, mut client, mut server } = line().await;
    proxy.refuse();
    let refused = TcpStream::connect(proxy.addr()).await.expect_err("refused");
    assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
    proxy.blackhole();
    let mut swallowed = TcpStream::connect(proxy.addr()).await.expect("connected");
    swallowed.write_all(b"anybody there?").await.expect("sent");
    assert!(timeout(SILENCE, listener.accept()).await.is_err());
    is_silent(&mut swallowed).await;
    client.write_all(b"still here").await.expect("sent");
    comes(&mut server, "still here").await;
    proxy.accept();
    drop(TcpStream::connect(proxy.addr()).await.expect("connected"));
    listener.accept().await.expect("accepted");
    is_silent(&mut swallowed).await;
    proxy.cut();
    is_reset(&mut swallowed).await;
}

#[tokio::test]
async fn latency_delays_but_does_not_throttle() {
    let Line { proxy, listener: _listener, mut client, mut server } = line().await;
    let latency = Duration::from_millis(100);
    proxy.latency(latency);
    let begun = Instant::now();
    for _ in 0..200 {
        client.write_all(b"x").await.expect("sent");
        tokio::task::yield_now().await;
    }
    comes(&mut server, &"x".repeat(200)).await;
    let took = begun.elapsed();
    assert!(took >= latency, "{took:?}");
    assert!(took < 20 * latency, "one after the other: {took:?}");
    proxy.latency(Duration::ZERO);
    client.write_all(b"y").await.expect("sent");
    comes(&mut server, "y").await;
}

#[tokio::test]
async fn slow_is_slow_and_full_speed_is_not() {
    let Line { proxy, listener: _listener, mut client, mut server } = line().await;
    proxy.slow(NonZeroU64::new(10_000).expect("not zero"));
    let begun = Instant::now();
    client.write_all(&[b'x'; 3000]).await.expect("sent");
    comes(&mut server, &"x".repeat(3000)).await;
    let took = begun.elapsed();
    assert!(took >= Duration::from_millis(250), "{took:?}");
    proxy.full_speed();
    client.write_all(&[b'x'; 300_000]).await.expect("sent");
    comes(&mut server, &"x".repeat(300_000)).await;
}

#[tokio::test]
async fn an_upstream_that_is_gone_resets_and_can_be_replaced() {
    let Line { proxy, listener, .. } = line().await;
    drop(listener);
    match TcpStream::connect(proxy.addr()).await {
        Ok(mut client) => is_reset(&mut client).await,
        // The reset may come before the caller has looked.
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
    }
    let other = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    proxy.set_upstream(other.local_addr().expect("an address"));
    let _client = TcpStream::connect(proxy.addr()).await.expect("connected");
    other.accept().await.expect("accepted");
    proxy.until_accepted(3).await;
}

#[tokio::test]
async fn dropping_it_resets() {
    let Line { proxy, listener: _listener, mut client, mut server } = line().await;
    let addr: SocketAddr = proxy.addr();
    drop(proxy);
    is_reset(&mut client).await;
    is_reset(&mut server).await;
    TcpStream::connect(addr).await.expect_err("nobody listens");
}

#[tokio::test]
async fn urls_lead_through_it() {
    let proxy = Proxy::start(([127, 0, 0, 1], 1).into());
    let addr = proxy.addr();
    for (url, through) in [
        (
            "postgres://alex:a%40b@db.example.com:5432/test?x=1",
            format!("postgres://alex:a%40b@{addr}/test?x=1"),
        ),
        ("postgres://127.0.0.1:1", format!("postgres://{addr}")),
        ("ws://example.com/v1/gateway?ticket=a@b", format!("ws://{addr}/v1/gateway?ticket=a@b")),
    ] {
        assert_eq!(proxy.url(url), through);
    }
}

#[tokio::test]
async fn postgresql_works_through_it() {
    let server = OwnServer::fast().await;
    let proxy = Proxy::start(([127, 0, 0, 1], server.port()).into());
    let url = proxy.url(&server.url());
    localpg::query(&url, "SELECT 1").await.expect("an answer");
    proxy.until_open(0).await;
    proxy.refuse();
    localpg::query(&url, "SELECT 1").await.expect_err("refused");
    proxy.accept();
    let asked = tokio::spawn(async move { localpg::query(&url, "SELECT pg_sleep(60)").await });
    proxy.until_open(1).await;
    proxy.cut();
    asked.await.expect("joined").expect_err("cut off");
}

#[tokio::test]
async fn strand_silences_those_there_were_for_good_and_nobody_else() {
    let Line { proxy, listener, mut client, mut server } = line().await;
    proxy.strand();
    client.write_all(b"lost").await.expect("sent");
    is_silent(&mut server).await;
    let mut newer = TcpStream::connect(proxy.addr()).await.expect("connected");
    let (mut accepted, _) = listener.accept().await.expect("accepted");
    newer.write_all(b"hello").await.expect("sent");
    comes(&mut accepted, "hello").await;
    proxy.resume();
    is_silent(&mut server).await;
    is_silent(&mut client).await;
}
