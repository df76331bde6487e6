//! What goes over the wire: frames of the gateway, close codes, and the grammar of the NOTIFY channel.
//!
//! - [`frame`]: every frame as a plain type; [`codec`]: the same frames as JSON and as protobuf,
//!   and the fast path that encodes an event from borrowed parts.
//! - [`close`]: why a connection was closed and what a client should do about it.
//! - [`notify`]: entries of the channel `ephemeral` and the payloads they are packed into.
//!
//! Servers and clients share this crate, so it knows no domain types: ids are bare UUIDs, names are
//! text. What never lives here: sockets, SQL, rules of the product (which body is too long, who may
//! send), limits on size and depth of what is decoded (the caller has bounded it before).

pub mod close;
pub mod codec;
pub mod frame;
#[cfg(feature = "next")]
mod next;
pub mod notify;

pub use close::CloseCode;
pub use codec::{
    DecodeError, DecodeErrorKind, Encoding, EventParts, Subject, decode_client, decode_server, encode_client,
    encode_server,
};
pub use frame::{ClientFrame, ServerFrame};
