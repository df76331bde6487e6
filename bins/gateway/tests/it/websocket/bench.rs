//! A server that hands its connections to the test, and a client of bare bytes.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use axum::routing::any;
use gateway::websocket::{Kinds, Limits, Message, ReadError, Reader, Writer, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use node::AllowedOrigins;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

pub(super) const SUBPROTOCOLS: &[&str] = &["switchboard.v1.json", "switchboard.v1.proto"];
pub(super) const LIMITS: Limits =
    Limits { message_bytes: 64 << 10, fragments: 16, too_large_code: 4011, kinds: Kinds::All };
pub(super) const HEADER_DEADLINE: Duration = Duration::from_millis(200);
pub(super) const DEADLINE: Duration = Duration::from_secs(5);

/// What the server gives the test for each connection.
pub(super) struct Taken {
    pub(super) reader: Reader,
    pub(super) writer: Writer,
    pub(super) subprotocol: &'static str,
}

impl Taken {
    /// The next message, or a failed test: nothing here takes long unless it hangs.
    pub(super) async fn next(&mut self) -> Result<Message, ReadError> {
        tokio::time::timeout(DEADLINE, self.reader.next()).await.expect("a message or its refusal in time")
    }
}

pub(super) struct Server {
    pub(super) address: SocketAddr,
    connections: mpsc::Receiver<Taken>,
    accepting: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Server {
    pub(super) async fn start(limits: Limits) -> Self {
        Self::with_origins(limits, AllowedOrigins::all()).await
    }

    pub(super) async fn with_origins(limits: Limits, origins: AllowedOrigins) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, connections) = mpsc::channel(16);
        let answer = move |request| answer(request, limits, origins, sender);
        let service = TowerToHyperService::new(Router::new().fallback(any(answer)));
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let service = service.clone();
                tokio::spawn(async move {
                    let mut builder = Builder::new(TokioExecutor::new());
                    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEADER_DEADLINE);
                    builder.serve_connection_with_upgrades(TokioIo::new(socket), service).await
                });
            }
        });
        Self { address, connections, accepting }
    }

    /// A connected pair: what the server took, and the client's socket.
    pub(super) async fn connect(&mut self) -> (Taken, Client) {
        let mut client = Client::open(self.address).await;
        let response = client.ask(&request("")).await;
        assert!(response.starts_with("HTTP/1.1 101"), "{response}");
        (self.taken().await, client)
    }

    pub(super) async fn taken(&mut self) -> Taken {
        self.connections.recv().await.unwrap()
    }
}

async fn answer(
    mut request: Request<Body>,
    limits: Limits,
    origins: AllowedOrigins,
    sender: mpsc::Sender<Taken>,
) -> Response<Body> {
    let accepted = match handshake::accept(&mut request, SUBPROTOCOLS, &origins) {
        Ok(accepted) => accepted,
        Err(refusal) => return refusal.into_response(),
    };
    let subprotocol = accepted.subprotocol;
    tokio::spawn(async move {
        let (reader, writer) = accepted.upgrade.finish().await.unwrap().split(limits);
        sender.send(Taken { reader, writer, subprotocol }).await
    });
    accepted.response
}

/// A good request with more header lines, each ended by CR LF.
pub(super) fn request(more: &str) -> String {
    format!(
        "GET /v1/gateway HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{more}\r\n"
    )
}

/// A masked frame as a client sends it.
pub(super) fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];
    let mut frame = vec![first];
    match payload.len() {
        length @ ..=125 => frame.push(0x80 | u8::try_from(length).unwrap()),
        length @ ..=0xFFFF => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    frame.extend_from_slice(&MASK);
    frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

pub(super) struct Client(pub(super) TcpStream);

impl Client {
    pub(super) async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self(stream)
    }

    /// Sends a request and reads the response up to the end of its header.
    pub(super) async fn ask(&mut self, request: &str) -> String {
        self.send(request.as_bytes()).await;
        let mut header = Vec::new();
        while !header.ends_with(b"\r\n\r\n") {
            header.push(self.0.read_u8().await.unwrap());
        }
        String::from_utf8(header).unwrap()
    }

    pub(super) async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// Reads one short frame.
    pub(super) async fn frame(&mut self) -> (u8, Vec<u8>) {
        let first = self.0.read_u8().await.unwrap();
        let length = self.0.read_u8().await.unwrap();
        assert!(length < 126, "no mask and a short length, not {length:#x}");
        let mut payload = vec![0; usize::from(length)];
        self.0.read_exact(&mut payload).await.unwrap();
        (first, payload)
    }

    /// Reads a close frame and then the end of the connection; a reset fails.
    pub(super) async fn closed(&mut self) -> (u16, String) {
        let (first, payload) = self.frame().await;
        assert_eq!(first, 0x88);
        assert_eq!(self.0.read(&mut [0; 16]).await.unwrap(), 0, "nothing after the close");
        let code = u16::from_be_bytes([payload[0], payload[1]]);
        (code, String::from_utf8(payload[2..].to_vec()).unwrap())
    }
}
