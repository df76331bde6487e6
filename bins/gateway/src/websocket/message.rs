//! What a reader gives, what it refuses, and where its limits are.

use bytes::Bytes;
use fastwebsockets::WebSocketError;

/// A whole message or control frame of the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message {
    /// Text; the bytes are checked to be UTF-8. May share its memory with the read buffer, so copy
    /// what is kept for long.
    Text(Bytes),
    /// Bytes, likewise.
    Binary(Bytes),
    /// A ping: answer with [`frame::pong`](super::frame::pong) through the same writer as the data.
    Ping(Bytes),
    /// A pong.
    Pong(Bytes),
    /// The peer closes: answer with [`closing::answer`](super::closing::answer). Nothing follows.
    Close {
        /// The code, if the peer gave one.
        code: Option<u16>,
        /// What the peer said with it.
        reason: String,
    },
}

/// The messages that a connection takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kinds {
    /// Text and binary.
    All,
    /// Only text; a binary frame is refused from its header on.
    Text,
    /// Only binary; a text frame is refused from its header on.
    Binary,
}

/// What one connection may send us.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most bytes of one message, over all its fragments.
    pub message_bytes: usize,
    /// The most frames that one message comes in.
    pub fragments: u32,
    /// The close code for too much of either: 4011 in the product, 1009 in RFC 6455.
    pub too_large_code: u16,
    /// The messages that are taken.
    pub kinds: Kinds,
}

/// Why reading ended. [`ReadError::close_code`] says what the peer is told.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The connection ended without a close frame.
    #[error("the peer is gone")]
    Gone,
    /// The socket failed.
    #[error("socket: {0}")]
    Io(std::io::Error),
    /// A read was dropped in the middle of a frame, so the place in the stream is lost.
    #[error("an earlier read was dropped in the middle of a frame")]
    Interrupted,
    /// A client must mask its frames (RFC 6455, 5.1).
    #[error("frame without mask")]
    Unmasked,
    /// A reserved bit is set although no extension was agreed on.
    #[error("reserved bits are set")]
    ReservedBits,
    /// The opcode is none of RFC 6455.
    #[error("reserved opcode {0}")]
    ReservedOpcode(u8),
    /// A control frame has more than 125 bytes.
    #[error("control frame of more than 125 bytes")]
    ControlTooLong,
    /// A control frame is not final.
    #[error("fragmented control frame")]
    ControlFragmented,
    /// The length is written in more bytes than it needs, or has its highest bit set.
    #[error("length in a wrong form")]
    LengthForm,
    /// A continuation without a message to continue.
    #[error("continuation without a beginning")]
    NothingToContinue,
    /// A new message before the end of the one begun.
    #[error("a message within a message")]
    MessageWithinMessage,
    /// A close frame with half a code, or a code that may not be sent.
    #[error("bad close frame")]
    BadClose,
    /// What the parser of frames refused besides.
    #[error("frame: {0}")]
    Frame(WebSocketError),
    /// Text, or the reason of a close, is not UTF-8.
    #[error("text is not UTF-8")]
    NotUtf8,
    /// Text where only binary is taken, or the reverse.
    #[error("a kind of message that is not taken here")]
    WrongKind,
    /// More bytes or more fragments than one message may have.
    #[error("message too large")]
    TooLarge {
        /// The close code that the limits name for it.
        code: u16,
    },
}

impl ReadError {
    /// The close code that the peer is told; none when there is no use in telling.
    #[must_use]
    pub const fn close_code(&self) -> Option<u16> {
        match self {
            Self::Gone | Self::Io(_) => None,
            Self::Interrupted => Some(1011),
            Self::Unmasked
            | Self::ReservedBits
            | Self::ReservedOpcode(_)
            | Self::ControlTooLong
            | Self::ControlFragmented
            | Self::LengthForm
            | Self::NothingToContinue
            | Self::MessageWithinMessage
            | Self::BadClose
            | Self::Frame(_) => Some(1002),
            Self::WrongKind => Some(1003),
            Self::NotUtf8 => Some(1007),
            Self::TooLarge { code } => Some(*code),
        }
    }
}
