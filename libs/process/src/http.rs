//! The one place where a router is served.
//!
//! axum's own `serve` has no deadline for headers and does not wait for connections; this does
//! both. Each connection is HTTP/1.1, may upgrade, and has the peer's address in its request
//! extensions ([`ConnectInfo`]). A connection counts towards [`ServeSettings::max_connections`] as
//! long as it speaks HTTP; who upgrades it keeps it counted by holding on to its [`Slot`].
//!
//! hyper's own HTTP/1.1 server is used, not hyper-util's `auto` one: that reads the first bytes to find the
//! version before any timer runs, so a peer that says nothing stays for ever. An upgraded connection is
//! therefore `upgraded.downcast::<TokioIo<TcpStream>>()`.
//!
//! Failures: an accept that fails never ends the loop (out of file descriptors backs off, a peer that
//! went away is nothing); a connection over the limit is answered 503 and closed at once, so
//! that a balancer tries another node; a connection that panics takes only itself along.
//!
//! Stopping: once the node says that it leaves ([`Server::leaving`]) each answer asks the peer not to come back on its
//! connection, so that few wait for another request when `shutdown` is cancelled. Then what waits to be accepted is accepted, the
//! listener closes, each connection finishes the response it is at and what is on its way (an upgraded one is left to its owner), and what
//! has not ended at the deadline is cut off and counted in the log.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::CONNECTION;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::{Deserialize, Serialize};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use uuid::Uuid;

/// How long the loop rests after an accept that failed for want of something (file descriptors, memory).
const ACCEPT_REST: Duration = Duration::from_millis(100);

/// How long a connection without a request stays open once the listener closes: what its peer sent just before is on its way,
/// and would be lost, where the peer could not tell whether it was worked on.
const ON_ITS_WAY: Duration = Duration::from_millis(250);

/// Least time between two log lines about the same trouble.
const LOG_EVERY: Duration = Duration::from_secs(5);

/// What is buffered of a request at most before its headers are complete.
const HEADER_BYTES: usize = 64 * 1024;

/// How connections are served.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServeSettings {
    /// How long a connection may take until the headers of its next request are complete. A connection that is
    /// kept open for reuse waits no longer than this either, so let a proxy in front forget idle ones sooner.
    #[serde(with = "domain::duration")]
    pub header_read_timeout: Duration,
    /// How long a peer may leave what was sent to it unacknowledged, or an idle connection's probes unanswered,
    /// until it counts as gone. Without it a laptop that was closed holds its place for a quarter of an hour.
    #[serde(with = "domain::duration")]
    pub peer_timeout: Duration,
    /// How many connections are open at most; more are answered 503 and closed.
    pub max_connections: usize,
}

impl Default for ServeSettings {
    fn default() -> Self {
        Self {
            header_read_timeout: Duration::from_secs(30),
            peer_timeout: Duration::from_secs(60),
            max_connections: 50_000,
        }
    }
}

/// The header with the id of a request.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of a request, which stands on its lines in the log: that of a proxy in front, if it sent one that can stand there,
/// else a new one.
#[must_use]
pub fn request_id(headers: &HeaderMap) -> HeaderValue {
    let given = headers.get(REQUEST_ID).filter(|id| {
        (1..=64).contains(&id.len())
            && id.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
    });
    given.cloned().unwrap_or_else(|| {
        HeaderValue::from_str(&Uuid::now_v7().to_string()).unwrap_or(HeaderValue::from_static("unknown"))
    })
}

/// One place among [`ServeSettings::max_connections`], in the extensions of every request. Whoever upgrades the
/// connection holds a clone until the upgraded socket is closed.
#[derive(Debug, Clone)]
pub struct Slot {
    _permit: Arc<OwnedSemaphorePermit>,
}

/// A listener with the router it serves.
#[derive(Debug)]
pub struct Server {
    name: &'static str,
    listener: TcpListener,
    router: Router,
    settings: ServeSettings,
    leaving: CancellationToken,
}

impl Server {
    /// A server by this name (for the log). It accepts when it is run.
    #[must_use]
    pub fn new(name: &'static str, listener: TcpListener, router: Router, settings: ServeSettings) -> Self {
        Self { name, listener, router, settings, leaving: CancellationToken::new() }
    }

    /// From when this token is cancelled, answers end their connections.
    #[must_use]
    pub fn leaving(self, leaving: CancellationToken) -> Self {
        Self { leaving, ..self }
    }

    /// Serves until `shutdown` is cancelled, then waits `deadline` for connections to finish.
    ///
    /// Dropping the future cuts every connection off.
    pub async fn run(self, shutdown: CancellationToken, deadline: Duration) {
        let Self { name, listener, router, settings, leaving } = self;
        let max = settings.max_connections.min(Semaphore::MAX_PERMITS);
        let serving = Serving { name, router, settings, leaving, slots: Arc::new(Semaphore::new(max)) };
        let mut connections = JoinSet::new();
        serving.accept(&listener, &shutdown, &mut connections).await;
        serving.accept_waiting(listener, &shutdown, &mut connections);
        serving.finish(connections, deadline).await;
    }
}

/// What the accept loop and the connections share.
struct Serving {
    name: &'static str,
    router: Router,
    settings: ServeSettings,
    leaving: CancellationToken,
    slots: Arc<Semaphore>,
}

impl Serving {
    async fn accept(
        &self,
        listener: &TcpListener,
        shutdown: &CancellationToken,
        connections: &mut JoinSet<()>,
    ) {
        let (mut full, mut failed) = (Seldom::default(), Seldom::default());
        loop {
            let accepted = tokio::select! {
                biased;
                () = shutdown.cancelled() => return,
                Some(ended) = connections.join_next() => {
                    self.ended(ended);
                    continue;
                }
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((socket, peer)) => {
                    if !self.take(socket, peer, shutdown, connections) && full.due() {
                        let max = self.settings.max_connections;
                        tracing::warn!(listener = self.name, max, "connection limit reached, refusing");
                    }
                }
                Err(error) if is_about_the_peer(&error) => {}
                Err(error) => {
                    if failed.due() {
                        tracing::error!(listener = self.name, %error, "can't accept connections, trying again");
                    }
                    tokio::select! {
                        () = shutdown.cancelled() => return,
                        () = tokio::time::sleep(ACCEPT_REST) => {}
                    }
                }
            }
        }
    }

    /// Closes the listener, and takes those who connected before: closed with it, what they sent would be lost.
    fn accept_waiting(
        &self,
        listener: TcpListener,
        shutdown: &CancellationToken,
        connections: &mut JoinSet<()>,
    ) {
        // The kernel is asked, not the runtime, which may not have heard of them yet.
        let Ok(listener) = listener.into_std() else { return };
        while let Ok((socket, peer)) = listener.accept() {
            let socket = socket.set_nonblocking(true).and_then(|()| TcpStream::from_std(socket));
            if let Ok(socket) = socket {
                self.take(socket, peer, shutdown, connections);
            }
        }
    }

    /// Serves a connection, or refuses it when there are too many: whether it is served.
    fn take(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        shutdown: &CancellationToken,
        connections: &mut JoinSet<()>,
    ) -> bool {
        let Ok(permit) = self.slots.clone().try_acquire_owned() else {
            refuse(&socket);
            return false;
        };
        let slot = Slot { _permit: Arc::new(permit) };
        connections.spawn(self.connection(socket, peer, slot, shutdown.clone()));
        true
    }

    fn connection(
        &self,
        socket: TcpStream,
        peer: SocketAddr,
        slot: Slot,
        shutdown: CancellationToken,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (name, router, settings) = (self.name, self.router.clone(), self.settings.clone());
        let leaving = self.leaving.clone();
        async move {
            // A socket that refuses is as good as closed.
            if let Err(error) = prepare(&socket, settings.peer_timeout) {
                tracing::debug!(listener = name, %peer, %error, "connection ended");
                return;
            }
            let service = hyper::service::service_fn(move |mut request: hyper::Request<Incoming>| {
                request.extensions_mut().insert(ConnectInfo(peer));
                request.extensions_mut().insert(slot.clone());
                let (answer, leaving) = (router.clone().oneshot(request.map(Body::new)), leaving.clone());
                async move {
                    let mut answer = answer.await?;
                    if leaving.is_cancelled() && answer.status() != StatusCode::SWITCHING_PROTOCOLS {
                        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                    }
                    Ok::<_, Infallible>(answer)
                }
            });
            let mut builder = http1::Builder::new();
            builder
                .timer(TokioTimer::new())
                .header_read_timeout(settings.header_read_timeout)
                .max_buf_size(HEADER_BYTES);
            let connection = builder.serve_connection(TokioIo::new(socket), service).with_upgrades();
            tokio::pin!(connection);
            let ended = tokio::select! {
                biased;
                ended = &mut connection => ended,
                () = async {
                    shutdown.cancelled().await;
                    tokio::time::sleep(ON_ITS_WAY).await;
                } => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            // A peer that stops half way, or never spoke HTTP, is its own business.
            if let Err(error) = ended {
                tracing::debug!(listener = name, %peer, %error, "connection ended");
            }
        }
    }

    /// Waits for the connections, then cuts off those that stay.
    async fn finish(&self, mut connections: JoinSet<()>, deadline: Duration) {
        let all = async {
            while let Some(ended) = connections.join_next().await {
                self.ended(ended);
            }
        };
        if tokio::time::timeout(deadline, all).await.is_err() {
            tracing::warn!(listener = self.name, connections = connections.len(), "cutting connections off");
            connections.shutdown().await;
        }
    }

    fn ended(&self, ended: Result<(), tokio::task::JoinError>) {
        if let Err(error) = ended
            && error.is_panic()
        {
            tracing::error!(listener = self.name, "a connection panicked");
        }
    }
}

/// Small frames must not wait for each other, and a peer that is gone must be noticed.
fn prepare(socket: &TcpStream, peer_timeout: Duration) -> io::Result<()> {
    socket.set_nodelay(true)?;
    // Four probes before the time is over. The least the operating system takes is a second.
    let pause = (peer_timeout / 4).max(Duration::from_secs(1));
    let keepalive = TcpKeepalive::new().with_time(pause).with_interval(pause).with_retries(3);
    let options = SockRef::from(socket);
    options.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    options.set_tcp_user_timeout(Some(peer_timeout))?;
    Ok(())
}

/// Answers without reading: the socket's buffer is empty, so what is written fits.
fn refuse(socket: &TcpStream) {
    const ANSWER: &[u8] =
        b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    // A socket that can't take it is closed all the same.
    let _ = socket.try_write(ANSWER);
}

/// Whether an accept failed because of the peer alone, so that the next one may go well at once.
fn is_about_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// Says yes at most once per [`LOG_EVERY`].
#[derive(Debug, Default)]
struct Seldom {
    last: Option<Instant>,
}

impl Seldom {
    fn due(&mut self) -> bool {
        let now = Instant::now();
        let due = self.last.is_none_or(|last| now.duration_since(last) >= LOG_EVERY);
        if due {
            self.last = Some(now);
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_served_socket_notices_a_peer_that_is_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (_client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
        let (socket, _) = accepted.expect("accepted");
        prepare(&socket, Duration::from_secs(60)).expect("takes options");
        let options = SockRef::from(&socket);
        assert!(socket.nodelay().expect("known") && options.keepalive().expect("known"));
        if cfg!(target_os = "linux") {
            assert_eq!(options.tcp_user_timeout().expect("known"), Some(Duration::from_secs(60)));
        }
    }
}
