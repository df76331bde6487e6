//! A WebSocket made of bare bytes, for what no client library would send.

use client::{Api, Credential};
use domain::DeviceId;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::world::PATIENCE;

pub(crate) const TEXT: u8 = 0x81;
pub(crate) const BINARY: u8 = 0x82;

/// An upgraded connection.
pub(crate) struct Raw {
    stream: TcpStream,
    read: Vec<u8>,
}

/// The head of an answer that is no upgrade, and its body.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Refused {
    /// The `code` of the problem document.
    pub(crate) fn code(&self) -> String {
        let problem: Value = serde_json::from_str(&self.body).unwrap_or_default();
        problem["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Raw {
    /// Connects to a gateway's URL, with more header lines, each ended by CR LF.
    pub(crate) async fn open(url: &str, credential: &Credential, more: &str) -> Result<Self, Refused> {
        let (query, header) = match credential {
            Credential::Ticket(ticket) => (format!("?ticket={ticket}"), String::new()),
            Credential::Bearer(token) => (String::new(), format!("Authorization: Bearer {token}\r\n")),
            Credential::Nothing => (String::new(), String::new()),
        };
        let request = format!(
            "GET /v1/gateway{query} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{header}{more}\r\n"
        );
        Self::ask(url, &request).await
    }

    /// Sends a request as it is to a gateway's URL.
    pub(crate) async fn ask(url: &str, request: &str) -> Result<Self, Refused> {
        let address = url.trim_start_matches("ws://").split('/').next().expect("an address");
        let mut stream = TcpStream::connect(address).await.expect("a connection");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut raw = Self { stream, read: Vec::new() };
        let end = loop {
            if let Some(at) = raw.read.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(raw.more().await, "no answer: {:?}", String::from_utf8_lossy(&raw.read));
        };
        let head: Vec<u8> = raw.read.drain(..end).collect();
        let head = String::from_utf8(head).expect("a head of ASCII");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        if status == 101 {
            return Ok(raw);
        }
        let length = head
            .to_ascii_lowercase()
            .split_once("content-length: ")
            .and_then(|(_, rest)| rest.split("\r\n").next().and_then(|length| length.parse::<usize>().ok()));
        while raw.read.len() < length.unwrap_or(0) && raw.more().await {}
        Err(Refused { status, head, body: String::from_utf8_lossy(&raw.read).into_owned() })
    }

    /// A connection of somebody that has had `hello`.
    pub(crate) async fn hello(url: &str, api: &Api) -> Self {
        let ticket = Credential::Ticket(api.ticket().await.expect("a ticket").ticket);
        let mut raw = Self::open(url, &ticket, "").await.expect("an upgrade");
        assert_eq!(raw.json().await["op"], "hello");
        raw
    }

    /// A connection of a device, live.
    pub(crate) async fn live(url: &str, api: &Api, device: DeviceId) -> Self {
        let mut raw = Self::hello(url, api).await;
        raw.say(&json!({ "op": "identify", "device_id": device })).await;
        while raw.json().await["op"] != "live" {}
        raw
    }

    /// Sends bytes as they are. That the other side has gone already is no fault.
    pub(crate) async fn bytes(&mut self, bytes: &[u8]) {
        let _gone = self.stream.write_all(bytes).await;
    }

    /// Sends a masked frame; `first` is its first byte.
    pub(crate) async fn frame(&mut self, first: u8, payload: &[u8]) {
        self.bytes(&masked(first, payload)).await;
    }

    /// Sends a frame of the protocol, good or bad.
    pub(crate) async fn say(&mut self, frame: &Value) {
        self.frame(TEXT, frame.to_string().as_bytes()).await;
    }

    /// The next message that is text, as JSON. Pings are passed over.
    pub(crate) async fn json(&mut self) -> Value {
        loop {
            match self.next().await {
                Some((0x1, payload)) => return serde_json::from_slice(&payload).expect("JSON"),
                Some((0x9, _)) => {}
                Some((0x8, payload)) => panic!("closed with {:?}", code(&payload)),
                other => panic!("no text: {other:?}"),
            }
        }
    }

    /// The next `error`; other frames are passed over.
    pub(crate) async fn error(&mut self) -> Value {
        loop {
            let frame = self.json().await;
            if frame["op"] == "error" {
                return frame;
            }
        }
    }

    /// Waits for the close frame and gives its code; other frames are passed over.
    pub(crate) async fn closed(&mut self) -> u16 {
        loop {
            match self.next().await {
                Some((0x8, payload)) => {
                    self.frame(0x88, &payload).await;
                    return code(&payload).expect("a code");
                }
                Some(_) => {}
                None => panic!("ended without a close frame"),
            }
        }
    }

    /// The next frame: opcode and payload. None at the end of the connection.
    pub(crate) async fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        loop {
            if let Some((head, length)) = measure(&self.read)
                && self.read.len() >= head + length
            {
                let frame: Vec<u8> = self.read.drain(..head + length).collect();
                assert_eq!(frame[0] & 0xF0, 0x80, "servers send whole messages here");
                return Some((frame[0] & 0x0F, frame[head..].to_vec()));
            }
            if !self.more().await {
                return None;
            }
        }
    }

    async fn more(&mut self) -> bool {
        let read = timeout(PATIENCE, self.stream.read_buf(&mut self.read)).await.expect("something comes");
        read.is_ok_and(|read| read > 0)
    }
}

/// The length of a server's frame: of its head and of its payload.
fn measure(bytes: &[u8]) -> Option<(usize, usize)> {
    let second = *bytes.get(1)?;
    assert_eq!(second & 0x80, 0, "servers do not mask");
    match second {
        126 => Some((4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().expect("two bytes"))))),
        127 => {
            let length = u64::from_be_bytes(bytes.get(2..10)?.try_into().expect("eight bytes"));
            Some((10, usize::try_from(length).expect("a length")))
        }
        length => Some((2, usize::from(length))),
    }
}

/// The bytes of a client's frame.
pub(crate) fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0x37, 0xFA, 0x21, 0x3D];
    let mut frame = vec![first];
    match payload.len() {
        length @ ..=125 => frame.push(0x80 | length as u8),
        length @ ..=0xFFFF => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    frame.extend(MASK);
    frame.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    frame
}

fn code(payload: &[u8]) -> Option<u16> {
    Some(u16::from_be_bytes(payload.get(..2)?.try_into().ok()?))
}
