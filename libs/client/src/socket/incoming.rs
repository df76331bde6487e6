//! The receiving half.

use std::fmt;
use std::io::{self, Cursor};
use std::pin::Pin;

use bytes::{Bytes, BytesMut};
use fastwebsockets::{OpCode, Role, WebSocketError, WebSocketRead, after_handshake_split};
use futures_util::stream::{self, Stream as Frames, StreamExt};
use protocol::{DecodeErrorKind, ServerFrame, decode_server};
use tokio::io::{AsyncReadExt, Chain, ReadHalf};

use super::stream::Stream;
use super::{Outgoing, SocketError};

/// The most bytes of one message of the server. `ready` of a person in thousands of rooms is the largest.
const MOST_BYTES: usize = 16 << 20;

/// Receives frames.
///
/// The frame parser is not safe to cancel, so the read in progress lives here and not in the caller's
/// future.
pub struct Incoming {
    frames: Pin<Box<dyn Frames<Item = Result<ServerFrame, SocketError>> + Send>>,
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").finish_non_exhaustive()
    }
}

impl Incoming {
    pub(super) fn new(half: ReadHalf<Stream>, leftover: Bytes, outgoing: Outgoing) -> Self {
        let bytes = Cursor::new(leftover).chain(half);
        let (mut read, _) = after_handshake_split(bytes, tokio::io::sink(), Role::Client);
        read.set_auto_close(false);
        read.set_auto_pong(false);
        read.set_max_message_size(MOST_BYTES);
        let parser = Parser { read, outgoing, begun: BytesMut::new(), is_over: false };
        let frames = stream::unfold(parser, |mut parser| async move {
            if parser.is_over {
                return None;
            }
            let frame = parser.next().await;
            parser.is_over = frame.is_err();
            Some((frame, parser))
        });
        Self { frames: Box::pin(frames) }
    }

    /// The next frame. Safe to cancel. Frames of kinds that this release does not know are passed over.
    ///
    /// # Errors
    ///
    /// The end of the connection, with its close code if there was one. Nothing comes after an error.
    pub async fn receive(&mut self) -> Result<ServerFrame, SocketError> {
        self.frames
            .next()
            .await
            .unwrap_or_else(|| Err(SocketError::Lost("the connection is over".to_owned())))
    }
}

struct Parser {
    read: WebSocketRead<Chain<Cursor<Bytes>, ReadHalf<Stream>>>,
    outgoing: Outgoing,
    /// Fragments of the message that is not whole yet.
    begun: BytesMut,
    is_over: bool,
}

impl Parser {
    async fn next(&mut self) -> Result<ServerFrame, SocketError> {
        loop {
            let message = self.message().await?;
            match decode_server(&message, self.outgoing.encoding()) {
                Ok(frame) => return Ok(frame),
                Err(error) if error.kind == DecodeErrorKind::UnknownOp => {
                    tracing::debug!(op = error.op, "a frame of a newer server is passed over");
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The next whole message; control frames are dealt with on the way.
    async fn message(&mut self) -> Result<Bytes, SocketError> {
        loop {
            let mut nothing_to_send = |_| async { Ok::<(), io::Error>(()) };
            let frame = self.read.read_frame(&mut nothing_to_send).await.map_err(lost)?;
            let (is_final, opcode) = (frame.fin, frame.opcode);
            let payload = Vec::from(frame.payload);
            match opcode {
                OpCode::Ping => self.outgoing.pong(payload).await?,
                OpCode::Pong => {}
                OpCode::Close => return Err(self.closed(payload).await),
                OpCode::Text | OpCode::Binary | OpCode::Continuation => {
                    if is_final && self.begun.is_empty() {
                        return Ok(payload.into());
                    }
                    if self.begun.len() + payload.len() > MOST_BYTES {
                        return Err(SocketError::Lost("the server sent too large a message".to_owned()));
                    }
                    self.begun.extend_from_slice(&payload);
                    if is_final {
                        return Ok(self.begun.split().freeze());
                    }
                }
            }
        }
    }

    async fn closed(&self, payload: Vec<u8>) -> SocketError {
        let (code, reason) = payload.split_first_chunk().map_or((None, String::new()), |(code, reason)| {
            (Some(u16::from_be_bytes(*code)), String::from_utf8_lossy(reason).into_owned())
        });
        // A courtesy: when it can't be sent, or ours went first, the connection is over all the same.
        let _ = self.outgoing.answer_close(payload).await;
        SocketError::Closed { code, reason }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn lost(error: WebSocketError) -> SocketError {
    SocketError::Lost(error.to_string())
}
