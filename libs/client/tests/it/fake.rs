//! A gateway that does what the test says.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fastwebsockets::{Frame, OpCode, Role, WebSocket};
use protocol::frame::{Account, AgentSelf, Event, Hello, RawJson, Ready, Sender, Sent, User};
use protocol::{ClientFrame, Encoding, ServerFrame, decode_client, encode_server};
use sha1::{Digest, Sha1};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

pub(crate) const ME: Uuid = Uuid::from_u128(1);
pub(crate) const ROOM: Uuid = Uuid::from_u128(2);
pub(crate) const LOG: Uuid = Uuid::from_u128(3);
pub(crate) const SESSION: Uuid = Uuid::from_u128(4);
/// Nothing here takes so long unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) fn room() -> String {
    format!("room:{ROOM}")
}

pub(crate) fn own() -> String {
    format!("user:{ME}")
}

pub(crate) fn hello() -> ServerFrame {
    ServerFrame::Hello(Hello {
        heartbeat_interval_ms: 60_000,
        node: Uuid::nil(),
        connection_id: Uuid::nil(),
        reconnect_jitter_ms: 0,
    })
}

pub(crate) fn ready(streams: &[(String, u64)]) -> ServerFrame {
    ServerFrame::Ready(Box::new(Ready {
        session_id: SESSION,
        epoch: 1,
        log_epoch: LOG,
        account: Account::User(User {
            id: ME,
            handle: "sam".into(),
            display_name: "Sam".into(),
            role: "user".into(),
        }),
        rooms: Vec::new(),
        streams: BTreeMap::from_iter(streams.to_vec()),
    }))
}

/// `ready` of an agent, whose stream is at this number.
pub(crate) fn agent_ready(session: Uuid, head: u64) -> ServerFrame {
    let ServerFrame::Ready(mut ready) = ready(&[(agent_stream(), head)]) else { unreachable!() };
    ready.session_id = session;
    let (handle, display_name) = ("helper".to_owned(), "Helper".to_owned());
    ready.account = Account::Agent(AgentSelf { id: ME, handle, display_name });
    ServerFrame::Ready(ready)
}

pub(crate) fn agent_stream() -> String {
    format!("agent:{ME}")
}

pub(crate) fn message(seq: u64) -> ServerFrame {
    ServerFrame::Event(Event {
        stream: room(),
        seq,
        id: Uuid::from_u128(seq.into()),
        kind: "message.created".to_owned(),
        at: "2026-11-30T12:00:00.000000Z".to_owned(),
        sender: Sender { kind: "user".to_owned(), id: Some(ME) },
        data: RawJson::new(r#"{"body":"hello"}"#).unwrap(),
    })
}

pub(crate) fn sent(nonce: &str, seq: u64) -> ServerFrame {
    ServerFrame::Sent(Sent { nonce: nonce.to_owned(), seq, id: Uuid::from_u128(seq.into()) })
}

pub(crate) struct Gateway {
    listener: TcpListener,
    pub(crate) url: String,
}

impl Gateway {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("ws://{}/v1/gateway", listener.local_addr().unwrap());
        Self { listener, url }
    }

    pub(crate) async fn tcp(&self) -> TcpStream {
        tokio::time::timeout(PATIENCE, self.listener.accept()).await.expect("a connection").unwrap().0
    }

    /// Takes the next connection.
    pub(crate) async fn accept(&self) -> Peer<TcpStream> {
        Peer::upgrade(self.tcp().await).await
    }

    /// Takes the next connection and signs it in; gives the frame that it identified with, too.
    pub(crate) async fn accept_live(&self, streams: &[(String, u64)]) -> (Peer<TcpStream>, ClientFrame) {
        let mut peer = self.accept().await;
        peer.send(&hello()).await;
        let first = peer.frame().await;
        peer.send(&ready(streams)).await;
        peer.send(&ServerFrame::Live).await;
        (peer, first)
    }

    /// Whether somebody else wants in.
    pub(crate) async fn is_left_alone(&self) -> bool {
        tokio::time::timeout(Duration::from_millis(100), self.listener.accept()).await.is_err()
    }
}

/// Reads the header of a request.
pub(crate) async fn request(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut header = Vec::new();
    while !header.ends_with(b"\r\n\r\n") {
        header.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(header).unwrap()
}

pub(crate) fn header<'a>(request: &'a str, name: &str) -> Option<&'a str> {
    request.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// The server's side of one connection.
pub(crate) struct Peer<S> {
    ws: WebSocket<S>,
    pub(crate) request: String,
    encoding: Encoding,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    pub(crate) async fn upgrade(mut stream: S) -> Self {
        let request = request(&mut stream).await;
        let subprotocol = header(&request, "sec-websocket-protocol").unwrap();
        let encoding = Encoding::from_subprotocol(subprotocol).unwrap();
        let proof = proof(header(&request, "sec-websocket-key").unwrap());
        let response = format!(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: {proof}\r\nSec-WebSocket-Protocol: {subprotocol}\r\n\r\n"
        );
        stream.write_all(response.as_bytes()).await.unwrap();
        Self { ws: WebSocket::after_handshake(stream, Role::Server), request, encoding }
    }

    pub(crate) async fn send(&mut self, frame: &ServerFrame) {
        self.send_bytes(&encode_server(frame, self.encoding)).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        let opcode = match self.encoding {
            Encoding::Json => OpCode::Text,
            Encoding::Proto => OpCode::Binary,
        };
        self.send_raw(true, opcode, bytes).await;
    }

    pub(crate) async fn send_raw(&mut self, is_final: bool, opcode: OpCode, bytes: &[u8]) {
        self.ws.write_frame(Frame::new(is_final, opcode, None, bytes.into())).await.unwrap();
    }

    /// The next frame that is no ping; pings are answered.
    pub(crate) async fn frame(&mut self) -> ClientFrame {
        loop {
            match self.any_frame().await {
                ClientFrame::Ping => self.send(&ServerFrame::Pong).await,
                frame => return frame,
            }
        }
    }

    pub(crate) async fn any_frame(&mut self) -> ClientFrame {
        let (opcode, payload) = self.raw().await;
        assert!(matches!(opcode, OpCode::Text | OpCode::Binary), "{opcode:?} {payload:?}");
        decode_client(&payload, self.encoding).unwrap()
    }

    pub(crate) async fn raw(&mut self) -> (OpCode, Vec<u8>) {
        let frame = tokio::time::timeout(PATIENCE, self.ws.read_frame()).await.expect("a frame").unwrap();
        (frame.opcode, frame.payload.to_vec())
    }

    /// Waits for the client's close; what comes before is dropped.
    pub(crate) async fn closed(&mut self) -> u16 {
        loop {
            if let (OpCode::Close, payload) = self.raw().await {
                return u16::from_be_bytes([payload[0], payload[1]]);
            }
        }
    }

    /// Closes and waits for the client's answer.
    pub(crate) async fn close(mut self, code: u16, reason: &str) {
        self.ws.write_frame(Frame::close(code, reason.as_bytes())).await.unwrap();
        while let Ok(Ok(frame)) = tokio::time::timeout(PATIENCE, self.ws.read_frame()).await {
            if frame.opcode == OpCode::Close {
                break;
            }
        }
    }
}

pub(crate) fn proof(key: &str) -> String {
    let digest =
        Sha1::new().chain_update(key).chain_update("258EAFA5-E914-47DA-95CA-C5AB0DC85B11").finalize();
    STANDARD.encode(digest)
}
