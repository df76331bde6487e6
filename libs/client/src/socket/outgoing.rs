//! The sending half.

use std::fmt;
use std::sync::Arc;

use fastwebsockets::{Frame, OpCode, Payload, Role, WebSocketError, WebSocketWrite, after_handshake_split};
use protocol::{ClientFrame, Encoding, encode_client};
use tokio::io::WriteHalf;
use tokio::sync::Mutex;

use super::SocketError;
use super::stream::Stream;

/// A message that is no frame of the protocol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Raw {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// A ping of the WebSocket protocol.
    Ping(Vec<u8>),
}

/// Sends frames; clones send on the same connection.
#[derive(Clone)]
pub struct Outgoing {
    write: Arc<Mutex<WebSocketWrite<WriteHalf<Stream>>>>,
    encoding: Encoding,
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").field("encoding", &self.encoding).finish_non_exhaustive()
    }
}

impl Outgoing {
    pub(super) fn new(half: WriteHalf<Stream>, encoding: Encoding) -> Self {
        let (_, write) = after_handshake_split(tokio::io::empty(), half, Role::Client);
        Self { write: Arc::new(Mutex::new(write)), encoding }
    }

    pub(super) const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Sends a frame. Not safe to cancel: a frame torn in two ends the connection.
    ///
    /// # Errors
    ///
    /// The connection is over.
    pub async fn send(&self, frame: &ClientFrame) -> Result<(), SocketError> {
        let opcode = match self.encoding {
            Encoding::Json => OpCode::Text,
            Encoding::Proto => OpCode::Binary,
        };
        self.write(opcode, encode_client(frame, self.encoding).into()).await
    }

    /// Sends bytes as they are. Not safe to cancel.
    ///
    /// # Errors
    ///
    /// The connection is over.
    pub async fn send_raw(&self, raw: Raw) -> Result<(), SocketError> {
        match raw {
            Raw::Text(text) => self.write(OpCode::Text, text.into_bytes()).await,
            Raw::Binary(bytes) => self.write(OpCode::Binary, bytes).await,
            Raw::Ping(bytes) => self.write(OpCode::Ping, bytes).await,
        }
    }

    /// Sends a close frame; nothing can be sent after it.
    ///
    /// # Errors
    ///
    /// The connection is over.
    pub async fn close(&self, code: u16, reason: &str) -> Result<(), SocketError> {
        let reason = &reason[..reason.floor_char_boundary(123)];
        self.write(OpCode::Close, [&code.to_be_bytes(), reason.as_bytes()].concat()).await
    }

    pub(super) async fn pong(&self, payload: Vec<u8>) -> Result<(), SocketError> {
        self.write(OpCode::Pong, payload).await
    }

    /// Answers the server's close with the same.
    pub(super) async fn answer_close(&self, payload: Vec<u8>) -> Result<(), SocketError> {
        self.write(OpCode::Close, payload).await
    }

    async fn write(&self, opcode: OpCode, payload: Vec<u8>) -> Result<(), SocketError> {
        let mut write = self.write.lock().await;
        let wrote = write.write_frame(Frame::new(true, opcode, None, Payload::Owned(payload))).await;
        wrote.map_err(lost)?;
        // TLS keeps what is not flushed.
        write.flush().await.map_err(lost)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn lost(error: WebSocketError) -> SocketError {
    SocketError::Lost(error.to_string())
}
