//! Against real sockets of this machine, which the settings of most tests allow.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;

use reqwest::header::CONTENT_TYPE;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::interval;

use super::*;

mod server;
mod tls;

use server::{Server, read_request};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const LIMIT: Duration = Duration::from_secs(20);

/// This machine may be reached, and by plain HTTP.
fn open() -> OutboundSettings {
    OutboundSettings {
        allow_private: vec!["127.0.0.0/8".parse().unwrap()],
        allow_http: true,
        ..OutboundSettings::default()
    }
}

fn outbound() -> Outbound {
    Outbound::new(&open()).unwrap()
}

/// With names of the test's own making.
fn with_names(
    settings: &OutboundSettings,
    lookup: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static,
) -> Outbound {
    Outbound::build(settings, Arc::new(lookup), Client::builder()).unwrap()
}

fn to(url: &str) -> Post<'_> {
    Post { url, headers: HeaderMap::new(), body: b"{}".to_vec(), timeout: LIMIT }
}

/// The error of a request with a secret in its URL: no form of the error shows it.
async fn failure(outbound: &Outbound, base: &str, limit: Duration) -> OutboundError {
    let url = format!("{base}/topsecret?key=topsecret#topsecret");
    let error = outbound.post(Post { timeout: limit, ..to(&url) }).await.expect_err(base);
    for shown in [error.to_string(), format!("{error:?}")] {
        assert!(!shown.contains("secret"), "{shown}");
    }
    error
}

async fn write(mut socket: impl AsyncWrite + Unpin, text: impl AsRef<[u8]>) {
    // Who asked may be gone.
    let _ = socket.write_all(text.as_ref()).await;
    let _ = socket.shutdown().await;
}

/// Writes the beginning, then a byte now and then, for ever.
async fn trickle(mut socket: impl AsyncRead + AsyncWrite + Unpin, beginning: &str) {
    let mut clock = interval(Duration::from_millis(10));
    let mut next = beginning.as_bytes().to_vec();
    while socket.write_all(&next).await.is_ok() {
        next = b"a".to_vec();
        clock.tick().await;
    }
}

#[tokio::test]
async fn a_request_arrives_as_it_was_given() {
    let mut server =
        Server::start(|socket| write(socket, OK.replace("\r\n\r\n", "\r\nset-cookie: a=b\r\n\r\n"))).await;
    let outbound = outbound();
    for _ in 0..2 {
        let headers = HeaderMap::from_iter([
            (CONTENT_TYPE, HeaderValue::from_static("application/json")),
            (HeaderName::from_static("webhook-id"), HeaderValue::from_static("7")),
        ]);
        let url = format!("{}/hook?key=1#part", server.url());
        let post = Post { url: &url, headers, body: b"{\"a\":1}".to_vec(), timeout: LIMIT };
        let answer = outbound.post(post).await.unwrap();
        let expected =
            Answer { status: StatusCode::OK, retry_after: None, body: "ok".to_owned(), is_whole: true };
        assert_eq!(answer, expected);

        let request = server.request().await;
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, "{\"a\":1}");
        let mut lines: Vec<&str> = head.lines().collect();
        assert_eq!(lines.remove(0), "POST /hook?key=1 HTTP/1.1");
        lines.sort_unstable();
        let host = format!("host: {}", server.address());
        let agent = format!("user-agent: switchboard/{}", env!("CARGO_PKG_VERSION"));
        // Neither a cookie, nor a referer, nor an encoding that would have to be undone.
        let expected = [
            "accept: */*",
            "content-length: 7",
            "content-type: application/json",
            &host,
            &agent,
            "webhook-id: 7",
        ];
        assert_eq!(lines, expected);
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let head = format!("HTTP/1.1 {status} Moved\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n");
        let mut server = Server::start(move |socket| write(socket, head.clone())).await;
        let answer = outbound().post(to(&server.url())).await.unwrap();
        assert_eq!(answer.status.as_u16(), status);
        assert!(server.request().await.starts_with("POST / "));
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test]
async fn this_machine_is_not_reached_unless_that_is_allowed() {
    let server = Server::start(|socket| write(socket, OK)).await;
    let port = server.address().port();
    let strict =
        Outbound::new(&OutboundSettings { allow_http: true, ..OutboundSettings::default() }).unwrap();
    for host in
        ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "[64:ff9b::127.0.0.1]", "0"]
    {
        let error = failure(&strict, &format!("http://{host}:{port}"), LIMIT).await;
        assert!(matches!(error, OutboundError::Refused(Refusal::Url(_))), "{host}: {error:?}");
        assert!(!error.is_retryable());
    }
    assert_eq!(server.connections(), 0);
    for host in ["127.0.0.1", "2130706433", "[::ffff:127.0.0.1]"] {
        outbound().post(to(&format!("http://{host}:{port}/"))).await.expect(host);
    }
}

#[tokio::test]
async fn a_name_that_leads_inside_is_refused() {
    let server = Server::start(|socket| write(socket, OK)).await;
    let url = format!("http://hook.example.com:{}", server.address().port());
    let public = IpAddr::from([8, 8, 8, 8]);
    let metadata = IpAddr::from([169, 254, 169, 254]);
    let this_machine = IpAddr::from(Ipv4Addr::LOCALHOST);
    // In the last case one of the addresses could be reached, and is not, for the other.
    for addresses in
        [vec![metadata], vec![public, metadata], vec![metadata, public], vec![this_machine, metadata]]
    {
        let found = addresses.clone();
        let outbound = with_names(&open(), move |_| Ok(found.clone()));
        let error = failure(&outbound, &url, LIMIT).await;
        let expected = Refusal::NotPublic { host: "hook.example.com".to_owned() };
        assert_eq!(error, OutboundError::Refused(expected), "{addresses:?}");
        assert!(!error.is_retryable() && !error.to_string().contains("169.254"), "{error}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_name_is_looked_up_once_so_there_is_no_second_answer_to_connect_to() {
    // It would take another request of the same connection.
    let mut server = Server::start(|mut socket| async move {
        while socket.write_all(OK.as_bytes()).await.is_ok() && !read_request(&mut socket).await.is_empty() {}
    })
    .await;
    let url = format!("http://hook.example.com:{}/", server.address().port());
    let lookups = Arc::new(AtomicUsize::new(0));
    let count = lookups.clone();
    // The first answer may be reached; all later ones may not.
    let outbound = with_names(&open(), move |name| {
        assert_eq!(name, "hook.example.com");
        let is_first = count.fetch_add(1, Ordering::SeqCst) == 0;
        Ok(vec![if is_first { Ipv4Addr::LOCALHOST.into() } else { IpAddr::from([10, 0, 0, 1]) }])
    });
    assert_eq!(outbound.post(to(&url)).await.unwrap().status, StatusCode::OK);
    assert!(server.request().await.contains(&format!("host: hook.example.com:{}", server.address().port())));
    assert_eq!(lookups.load(Ordering::SeqCst), 1);
    // No connection was kept that would be used without a look.
    let error = failure(&outbound, &url, LIMIT).await;
    assert!(matches!(error, OutboundError::Refused(Refusal::NotPublic { .. })), "{error:?}");
    assert_eq!((lookups.load(Ordering::SeqCst), server.connections()), (2, 1));
}

#[tokio::test]
async fn the_limit_of_time_holds_for_all_of_it() {
    const SHORT: Duration = Duration::from_millis(200);
    // Nobody accepts: the system takes the connection, and that is all.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", silent.local_addr().unwrap());
    let head = Server::start(|socket| trickle(socket, "HTTP/1.1 200 OK\r\nx-slow: a")).await;
    for url in [silent, head.url()] {
        let began = Instant::now();
        let error = failure(&outbound(), &url, SHORT).await;
        assert_eq!(error, OutboundError::TimedOut { host: "127.0.0.1".to_owned(), limit: SHORT });
        assert!(error.is_retryable() && (SHORT..LIMIT / 2).contains(&began.elapsed()));
    }
}

/// Whoever sent a status has said what became of the request.
#[tokio::test]
async fn a_body_that_breaks_off_or_never_ends_is_an_answer_all_the_same() {
    const SHORT: Duration = Duration::from_millis(200);
    let slow =
        Server::start(|socket| trickle(socket, "HTTP/1.1 200 OK\r\ncontent-length: 60000\r\n\r\n")).await;
    let began = Instant::now();
    let answer = outbound().post(Post { timeout: SHORT, ..to(&slow.url()) }).await.unwrap();
    assert_eq!((answer.status, answer.is_whole), (StatusCode::OK, false));
    assert!((SHORT..LIMIT / 2).contains(&began.elapsed()));
    let cut = "HTTP/1.1 202 Accepted\r\ncontent-length: 100\r\n\r\nthanks";
    let cut = Server::start(move |socket| write(socket, cut)).await;
    let answer = outbound().post(to(&cut.url())).await.unwrap();
    assert_eq!(
        (answer.status, answer.body.as_str(), answer.is_whole),
        (StatusCode::ACCEPTED, "thanks", false)
    );
}

#[tokio::test]
async fn a_name_server_that_does_not_answer_is_not_waited_for() {
    let (release, blocked) = mpsc::channel::<()>();
    let blocked = Mutex::new(blocked);
    let settings = OutboundSettings { connect_timeout: Duration::from_millis(100), ..open() };
    let outbound = with_names(&settings, move |_| {
        let _ = blocked.lock().unwrap().recv();
        Ok(vec![])
    });
    let error = failure(&outbound, "http://slow.example.com", LIMIT).await;
    let limit = settings.connect_timeout;
    assert_eq!(error, OutboundError::TimedOut { host: "slow.example.com".to_owned(), limit });
    drop(release);
}

#[tokio::test]
async fn of_a_large_body_the_beginning_is_kept_and_the_rest_not_read() {
    let (gone, mut told) = tokio::sync::mpsc::unbounded_channel();
    let endless = move |mut socket: tokio::net::TcpStream| {
        let gone = gone.clone();
        async move {
            write_head(&mut socket).await;
            while socket.write_all(&[b'x'; 8192]).await.is_ok() {}
            gone.send(()).unwrap();
        }
    };
    let server = Server::start(endless).await;
    let settings = OutboundSettings { max_response_bytes: 1000, ..open() };
    for (outbound, most) in [(outbound(), 64 * 1024), (Outbound::new(&settings).unwrap(), 1000)] {
        let answer = outbound.post(to(&server.url())).await.unwrap();
        assert_eq!((answer.body.len(), answer.is_whole), (most, false));
        // It is not read on behind our back: the connection ends.
        told.recv().await.unwrap();
    }
}

async fn write_head(socket: &mut tokio::net::TcpStream) {
    socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100000000000\r\n\r\n").await.unwrap();
}

#[tokio::test]
async fn a_server_that_has_too_much_to_do_says_when_to_come_back() {
    for (says, least, most) in [("30", 30, 30), ("Thu, 31 Dec 2099 23:59:59 GMT", 1_000_000, u64::MAX)] {
        let answer = format!("HTTP/1.1 503 Busy\r\nretry-after: {says}\r\ncontent-length: 4\r\n\r\nbusy");
        let server = Server::start(move |socket| write(socket, answer.clone())).await;
        let answer = outbound().post(to(&server.url())).await.unwrap();
        assert_eq!((answer.status, answer.body.as_str()), (StatusCode::SERVICE_UNAVAILABLE, "busy"));
        let wait = answer.retry_after.unwrap();
        assert!((Duration::from_secs(least)..=Duration::from_secs(most)).contains(&wait), "{wait:?}");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_told_apart_and_may_be_tried_again() {
    for text in ["", "HTTP/1.1 200 OK\r\ncontent-le", "SSH-2.0-Server\r\n"] {
        let server = Server::start(move |socket| write(socket, text)).await;
        let error = failure(&outbound(), &server.url(), LIMIT).await;
        assert_eq!(error, OutboundError::Broken { host: "127.0.0.1".to_owned() }, "{text:?}");
        assert!(error.is_retryable());
    }
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let error = failure(&outbound(), &closed, LIMIT).await;
    assert!(matches!(error, OutboundError::Unreachable { .. }) && error.is_retryable(), "{error:?}");

    let nobody: fn(&str) -> io::Result<Vec<IpAddr>> = |_| Ok(vec![]);
    let fails: fn(&str) -> io::Result<Vec<IpAddr>> = |_| Err(io::Error::other("no such host"));
    for lookup in [nobody, fails] {
        let error = failure(&with_names(&open(), lookup), "http://gone.example.com", LIMIT).await;
        let expected = "gone.example.com can't be reached: there is no such name";
        assert_eq!(error.to_string(), expected);
        assert!(error.is_retryable());
    }
}

#[tokio::test]
async fn a_request_goes_straight() {
    let server = Server::start(|socket| write(socket, OK)).await;
    assert_eq!(outbound().post(to(&server.url())).await.unwrap().body, "ok");
}

#[test]
fn proxies_of_the_environment_are_not_used() {
    // Nothing listens on port 1: had it a proxy, the request would fail.
    let names = ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::a_request_goes_straight"])
        .envs(names.map(|name| (name, "http://127.0.0.1:1")))
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}
