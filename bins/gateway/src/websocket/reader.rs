//! Reads whole messages, within limits.

use std::io;

use bytes::{Bytes, BytesMut};
use fastwebsockets::{OpCode, Payload, Role, WebSocketError, after_handshake_split};
use tokio::net::tcp::OwnedReadHalf;

use super::message::{Limits, Message, ReadError};
use super::tap::Tap;

/// The reading half of a connection.
///
/// While nothing comes it holds no buffer. Fragments are put together here, text is checked fragment
/// by fragment, and pings and closes are given to the caller, who answers them through the
/// connection's one writer.
#[derive(Debug)]
pub struct Reader {
    tap: Tap,
    message_bytes: usize,
    begun: Option<Begun>,
}

/// A message of which not all fragments have come.
#[derive(Debug)]
struct Begun {
    is_text: bool,
    bytes: BytesMut,
    /// So many bytes are checked to be UTF-8; the rest is a character cut in two.
    checked: usize,
}

/// One frame, unmasked.
struct Part {
    is_final: bool,
    opcode: OpCode,
    payload: Bytes,
}

impl Reader {
    /// Reads from a socket whose handshake is over; `leftover` was read with the handshake.
    #[must_use]
    pub fn new(half: OwnedReadHalf, leftover: Bytes, limits: Limits) -> Self {
        Self { tap: Tap::new(half, leftover, limits), message_bytes: limits.message_bytes, begun: None }
    }

    /// The next message or control frame.
    ///
    /// Not safe to cancel: a future dropped in the middle of a frame loses the place in the stream,
    /// and the next read says [`ReadError::Interrupted`]. In a `select!` keep one pinned future and
    /// make the next only when it is done.
    ///
    /// # Errors
    ///
    /// The end of the connection, or what the peer must not send. Nothing can be read after either:
    /// end the connection with [`closing::refuse`](super::closing::refuse).
    pub async fn next(&mut self) -> Result<Message, ReadError> {
        loop {
            let part = self.frame().await?;
            match part.opcode {
                OpCode::Ping => return Ok(Message::Ping(part.payload)),
                OpCode::Pong => return Ok(Message::Pong(part.payload)),
                OpCode::Close => return close(&part.payload),
                OpCode::Text | OpCode::Binary if part.is_final => {
                    // The parser checks the UTF-8 of a text that is one frame.
                    return Ok(message(part.opcode == OpCode::Text, part.payload));
                }
                OpCode::Text | OpCode::Binary | OpCode::Continuation => {
                    if let Some(message) = self.gather(&part)? {
                        return Ok(message);
                    }
                }
            }
        }
    }

    /// The read half for what can no longer be read as frames.
    pub(super) fn bare(&mut self) -> &mut OwnedReadHalf {
        self.tap.bare()
    }

    /// Reads one frame. The parser and its buffer of 8 KiB live only from the first byte to the last.
    async fn frame(&mut self) -> Result<Part, ReadError> {
        self.tap.next_frame().await?;
        let read = {
            let (mut frames, _) = after_handshake_split(&mut self.tap, tokio::io::sink(), Role::Server);
            frames.set_auto_close(false);
            frames.set_auto_pong(false);
            // Refused at this size, not above it. The gate has counted; this is the second lock.
            frames.set_max_message_size(self.message_bytes.saturating_add(1).max(126));
            let mut nothing_to_send = |_| async { Ok::<(), io::Error>(()) };
            frames.read_frame(&mut nothing_to_send).await.map(|frame| Part {
                is_final: frame.fin,
                opcode: frame.opcode,
                payload: match frame.payload {
                    Payload::Bytes(bytes) => bytes.freeze(),
                    other => Bytes::from(Vec::from(other)),
                },
            })
        };
        match read {
            Ok(part) if self.tap.at_end() => Ok(part),
            // Gate and parser disagree on where the frame ends: never go on out of step.
            Ok(_) => Err(ReadError::LengthForm),
            Err(error) => Err(self.tap.take_refusal().unwrap_or_else(|| refusal(error))),
        }
    }

    /// Adds a fragment; gives the message when it was the last.
    fn gather(&mut self, part: &Part) -> Result<Option<Message>, ReadError> {
        let begun = self.begun.get_or_insert_with(|| Begun {
            is_text: part.opcode == OpCode::Text,
            bytes: BytesMut::new(),
            checked: 0,
        });
        begun.bytes.extend_from_slice(&part.payload);
        if begun.is_text {
            begun.check()?;
        }
        if !part.is_final {
            return Ok(None);
        }
        match self.begun.take() {
            Some(whole) if whole.is_text && whole.checked < whole.bytes.len() => Err(ReadError::NotUtf8),
            Some(whole) => Ok(Some(message(whole.is_text, whole.bytes.freeze()))),
            None => Ok(None),
        }
    }
}

impl Begun {
    /// Checks what has come since the last check; a character may go on in the next fragment.
    fn check(&mut self) -> Result<(), ReadError> {
        match std::str::from_utf8(&self.bytes[self.checked..]) {
            Ok(_) => self.checked = self.bytes.len(),
            Err(error) if error.error_len().is_none() => self.checked += error.valid_up_to(),
            Err(_) => return Err(ReadError::NotUtf8),
        }
        Ok(())
    }
}

fn message(is_text: bool, payload: Bytes) -> Message {
    if is_text { Message::Text(payload) } else { Message::Binary(payload) }
}

fn close(payload: &[u8]) -> Result<Message, ReadError> {
    let Some((code, reason)) = payload.split_first_chunk() else {
        let nothing = Message::Close { code: None, reason: String::new() };
        return if payload.is_empty() { Ok(nothing) } else { Err(ReadError::BadClose) };
    };
    let code = u16::from_be_bytes(*code);
    // Those of RFC 6455, 7.4, and those registered since; the others are never seen on a wire.
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(ReadError::BadClose);
    }
    let reason = std::str::from_utf8(reason).map_err(|_| ReadError::NotUtf8)?;
    Ok(Message::Close { code: Some(code), reason: reason.to_owned() })
}

fn refusal(error: WebSocketError) -> ReadError {
    match error {
        WebSocketError::UnexpectedEOF => ReadError::Gone,
        WebSocketError::IoError(error) => ReadError::Io(error),
        WebSocketError::InvalidUTF8 => ReadError::NotUtf8,
        other => ReadError::Frame(other),
    }
}
