//! One connection, from the upgraded socket to its end.
//!
//! ```text
//!   connected --sign-in--> hello --identify | resume--> ready --replay--> live
//!       |                    |                                             |
//!       +---- 4013, 4004     +---- 4003, 4012, 4014          any close code below
//! ```
//!
//! Until `ready` the connection is one conversation. After it the reader and the writer go on at the same time, in
//! one task: the reader takes the client's frames one after the other and puts answers into
//! the outbox, the writer alone writes, from the feed. Whichever ends first decides how the connection closes.

mod agent;
mod answer;
mod person;
mod reader;
mod refresh;
mod start;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::ConnectionId;
use prometheus::IntGauge;
use protocol::{CloseCode, Encoding};
use realtime::{Body, Encoded, Feed, Hold, Wire};
use tracing::Instrument as _;

use crate::credentials::Credentials;
use crate::gateway::Gateway;
use crate::websocket::{Connection as Socket, Kinds, Limits, ReadError, Reader, Writer, closing, frame};

/// How a connection ends.
#[derive(Debug)]
pub(crate) enum End {
    /// A reason of ours.
    Close(CloseCode),
    /// The peer sent a close frame.
    Peer(Option<u16>),
    /// What the peer sent can't be read on.
    Unreadable(ReadError),
    /// The socket broke, or is stuck in the middle of a frame: nothing more can be told.
    Broken,
}

/// Runs one connection to its end.
pub(crate) async fn run(
    gateway: Arc<Gateway>,
    id: ConnectionId,
    socket: Socket,
    encoding: Encoding,
    credentials: Credentials,
) {
    let limits = Limits {
        message_bytes: gateway.settings.max_frame_bytes,
        fragments: gateway.settings.max_fragments,
        too_large_code: CloseCode::FrameTooLarge.code(),
        kinds: match encoding {
            Encoding::Json => Kinds::Text,
            Encoding::Proto => Kinds::Binary,
        },
    };
    let (mut reader, mut writer) = socket.split(limits);
    let place = Arc::clone(&gateway.places).try_acquire_owned();
    let end = match &place {
        Ok(_) => {
            let mut counted = Counted::new(&gateway, "device");
            live(&gateway, id, encoding, credentials, (&mut reader, &mut writer), &mut counted).await
        }
        Err(_) => End::Close(CloseCode::ConnectionLimit),
    };
    let code = match &end {
        End::Close(code) => code.code(),
        End::Peer(code) => code.unwrap_or(1005),
        End::Unreadable(error) => error.close_code().unwrap_or(1006),
        End::Broken => 1006,
    };
    gateway.parts.realtime.closed(code);
    tracing::debug!(code, ?end, "a connection ended");
    let deadline = gateway.settings.close_timeout;
    if !writer.is_torn() {
        Box::pin(close(reader, writer, end, deadline)).await;
    }
}

async fn close(reader: Reader, writer: Writer, end: End, deadline: Duration) {
    match end {
        End::Broken => return,
        End::Close(code) => closing::begin(reader, writer, code.code(), code.reason(), deadline).await,
        End::Peer(code) => closing::answer(reader, writer, code, deadline).await,
        End::Unreadable(error) => closing::refuse(reader, writer, &error, deadline).await,
    };
}

async fn live(
    gateway: &Arc<Gateway>,
    id: ConnectionId,
    encoding: Encoding,
    credentials: Credentials,
    (reader, writer): (&mut Reader, &mut Writer),
    counted: &mut Counted,
) -> End {
    // On the heap and gone afterwards: an idle connection must not carry what only its beginning needs.
    let starting = Box::pin(start::start(gateway, id, encoding, credentials, reader, writer));
    let (opened, term) = match starting.await {
        Ok(begun) => begun,
        Err(end) => return end,
    };
    let connection = Arc::clone(&opened.connection);
    if connection.hold.consumer().is_some() {
        *counted = Counted::new(gateway, "consumer");
    }
    let held = Held { gateway, connection: &connection };
    let feed = Feed::new(opened, Arc::clone(&gateway.parts.catchup));
    let end = tokio::select! {
        end = reader::read(gateway, &connection, encoding, reader, term) => end,
        end = writer::write(gateway, &connection, encoding, feed, writer) => end,
    };
    drop(held);
    if let End::Close(CloseCode::NodeDrains) = end
        && !writer.is_torn()
    {
        Box::pin(say_drain(gateway, encoding, writer)).await;
    }
    end
}

/// Says where to go from here; best effort, the close code says the same.
async fn say_drain(gateway: &Gateway, encoding: Encoding, writer: &mut Writer) {
    let drain = Encoded::frame(realtime::farewell(gateway.settings.reconnect_jitter));
    let frame = wire(&drain, encoding);
    let _told = tokio::time::timeout(gateway.settings.close_timeout, writer.write(&frame)).await;
}

/// A connection that is counted as long as it has a place: as one of a device until it is known to be a consumer's.
struct Counted(IntGauge);

impl Counted {
    fn new(gateway: &Gateway, kind: &str) -> Self {
        let open = gateway.parts.metrics.connections.with_label_values(&["gateway", kind]);
        open.inc();
        Self(open)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// A session that ends on this node when it is dropped, also when the task is aborted.
struct Held<'a> {
    gateway: &'a Gateway,
    connection: &'a realtime::Connection,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.gateway.parts.sessions.close(self.connection);
        if let Hold::Consumer(slot) = self.connection.hold {
            // Beside the close of the socket, which must not wait for the database.
            let operations = self.gateway.parts.operations.clone();
            let leaving = async move { operations.consumer_left(slot.agent, slot.session).await };
            self.gateway.parts.tasks.transient("consumer that left", leaving.in_current_span());
        }
    }
}

/// The bytes of a frame on a WebSocket, made once for all connections.
pub(crate) fn wire(encoded: &Encoded, encoding: Encoding) -> Bytes {
    let (wire, data): (_, fn(&[u8]) -> Bytes) = match encoding {
        Encoding::Json => (Wire::SocketJson, frame::text),
        Encoding::Proto => (Wire::SocketProto, frame::binary),
    };
    encoded.bytes(wire, |body| match body {
        Body::Pong(payload) => frame::pong(payload),
        Body::Event(..) | Body::Frame(_) => data(&body.payload(encoding)),
    })
}
