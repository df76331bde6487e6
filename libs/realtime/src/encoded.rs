//! What goes to sockets, encoded once for each wire format and shared by all connections.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use domain::Event;
use protocol::codec::EventParts;
use protocol::{Encoding, ServerFrame};

/// A wire format: how a face puts a body on its kind of socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// A WebSocket text frame with JSON.
    SocketJson,
    /// A WebSocket binary frame with protobuf.
    SocketProto,
    /// Lines of Server-Sent Events with JSON.
    Sse,
}

/// How an event came to this node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// Written here and published from memory.
    Local,
    /// Written elsewhere, loaded by the relay.
    Remote,
    /// Read from the log by the connection itself.
    Replay,
}

/// What is sent.
#[derive(Debug)]
pub enum Body {
    /// An event of a stream.
    Event(Event, Path),
    /// Any other frame.
    Frame(ServerFrame),
    /// The answer to a ping of the socket itself, with the ping's bytes: it takes the same way, so that
    /// one writer writes all.
    Pong(Bytes),
}

impl Body {
    /// The bytes of the frame in an encoding, without what a socket puts around them.
    #[must_use]
    pub fn payload(&self, encoding: Encoding) -> Bytes {
        match self {
            Self::Frame(frame) => protocol::encode_server(frame, encoding),
            Self::Pong(payload) => payload.clone(),
            Self::Event(event, _) => EventParts {
                stream: &event.stream.to_string(),
                seq: event.seq,
                id: event.id.0,
                kind: event.kind.as_str(),
                at: &format!("{:.6}", event.at),
                sender_kind: event.sender.kind(),
                sender_id: event.sender.id(),
                data: &event.data,
            }
            .encode(encoding),
        }
    }
}

/// A body with its encodings, each made when the first connection needs it.
#[derive(Debug)]
pub struct Encoded {
    body: Body,
    weight: usize,
    wire: [OnceLock<Bytes>; 3],
}

impl Encoded {
    /// An event.
    #[must_use]
    pub fn event(event: Event, path: Path) -> Arc<Self> {
        // The frame around the data is about this long in JSON.
        let weight = event.data.len() + 300;
        Arc::new(Self { body: Body::Event(event, path), weight, wire: Default::default() })
    }

    /// Any other frame.
    #[must_use]
    pub fn frame(frame: ServerFrame) -> Arc<Self> {
        let weight = 200 + frame.json().map_or(0, |json| json.get().len());
        Arc::new(Self { body: Body::Frame(frame), weight, wire: Default::default() })
    }

    /// The answer to a ping of the socket itself.
    #[must_use]
    pub fn pong(payload: Bytes) -> Arc<Self> {
        let weight = payload.len();
        Arc::new(Self { body: Body::Pong(payload), weight, wire: Default::default() })
    }

    /// What is sent.
    #[must_use]
    pub const fn body(&self) -> &Body {
        &self.body
    }

    /// The seq and stream, when it is an event.
    #[must_use]
    pub const fn as_event(&self) -> Option<&Event> {
        match &self.body {
            Body::Event(event, _) => Some(event),
            Body::Frame(_) | Body::Pong(_) => None,
        }
    }

    /// About how many bytes it takes, before it is encoded.
    #[must_use]
    pub const fn weight(&self) -> usize {
        self.weight
    }

    /// The bytes in a wire format; `encode` is called by the first who needs them.
    pub fn bytes(&self, wire: Wire, encode: impl FnOnce(&Body) -> Bytes) -> Bytes {
        self.wire[wire as usize].get_or_init(|| encode(&self.body)).clone()
    }
}
