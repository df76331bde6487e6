//! Frames to bytes and back, in both encodings.
//!
//! Decoding trusts nothing but the length: the caller bounds the bytes before they come here. JSON
//! nesting is bounded by the parser (128), and where free JSON of a client is carried along unparsed, by
//! [`MAX_DEPTH`]. Both encodings carry the same frames, without loss.

mod error;
mod event;
mod json;
mod proto;
mod subject;

use bytes::Bytes;

pub use error::{DecodeError, DecodeErrorKind};
pub use event::EventParts;
pub use subject::Subject;

use crate::frame::{ClientFrame, ServerFrame};

/// How deep free JSON in a client's frame may nest. Parsers give up at about 128, and what a client sends is
/// wrapped a few times before it reaches others: whatever is let in can be read at the other end.
pub const MAX_DEPTH: usize = 100;

/// How frames are written; chosen by the WebSocket subprotocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Encoding {
    /// `switchboard.v1.json`: text messages, one JSON object each. Taken when none is asked for.
    #[default]
    Json,
    /// `switchboard.v1.proto`: binary messages, see `proto/switchboard/v1/gateway.proto`.
    Proto,
}

impl Encoding {
    /// Every encoding, in the order a server prefers.
    pub const ALL: [Self; 2] = [Self::Json, Self::Proto];

    /// The name in `Sec-WebSocket-Protocol`.
    #[must_use]
    pub const fn subprotocol(self) -> &'static str {
        match self {
            Self::Json => "switchboard.v1.json",
            Self::Proto => "switchboard.v1.proto",
        }
    }

    /// The encoding of this name.
    #[must_use]
    pub fn from_subprotocol(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|encoding| encoding.subprotocol() == name)
    }
}

/// Encodes a frame of the server.
#[must_use]
pub fn encode_server(frame: &ServerFrame, encoding: Encoding) -> Bytes {
    match (frame, encoding) {
        // One way to write an event, whoever has it.
        (ServerFrame::Event(event), _) => EventParts::from(event).encode(encoding),
        (_, Encoding::Json) => as_released(json::encode(frame), encoding),
        (_, Encoding::Proto) => as_released(proto::encode_server(frame), encoding),
    }
}

/// A frame of the server as this release says it.
#[cfg(not(feature = "next"))]
const fn as_released(frame: Bytes, _: Encoding) -> Bytes {
    frame
}

#[cfg(feature = "next")]
use crate::next::widened as as_released;

/// Encodes a frame of the client.
#[must_use]
pub fn encode_client(frame: &ClientFrame, encoding: Encoding) -> Bytes {
    match encoding {
        Encoding::Json => json::encode(frame),
        Encoding::Proto => proto::encode_client(frame),
    }
}

/// Decodes a frame of the client. As JSON, unknown fields are refused.
///
/// # Errors
///
/// What is wrong, good enough to be shown to the client.
pub fn decode_client(bytes: &[u8], encoding: Encoding) -> Result<ClientFrame, DecodeError> {
    let frame = match encoding {
        Encoding::Json => json::decode_client(bytes),
        Encoding::Proto => proto::decode_client(bytes),
    }?;
    match frame.json() {
        Some((field, json)) if json.depth() > MAX_DEPTH => {
            let message = format_args!("is nested deeper than {MAX_DEPTH} levels");
            Err(DecodeError::field(field, message).in_op(frame.op()))
        }
        _ => Ok(frame),
    }
}

/// Decodes a frame of the server. Unknown fields are skipped; an unknown `op` is an error of kind
/// [`DecodeErrorKind::UnknownOp`], which a client passes over.
///
/// # Errors
///
/// What is wrong.
pub fn decode_server(bytes: &[u8], encoding: Encoding) -> Result<ServerFrame, DecodeError> {
    match encoding {
        Encoding::Json => json::decode_server(bytes),
        Encoding::Proto => proto::decode_server(bytes),
    }
}

#[cfg(test)]
mod tests;
