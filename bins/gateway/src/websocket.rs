//! The WebSocket layer: a connection from its handshake to its last byte, without knowing what the
//! messages mean.
//!
//! [`handshake::accept`] answers a request and gives a [`Connection`], which splits into a
//! [`Reader`] and a [`Writer`]. The reader gives whole messages and keeps every limit from the first
//! byte; the writer sends frames that [`frame`] has built once for all connections; [`closing`] ends
//! a connection so that the peer sees the close code.
//!
//! What never lives here: frames of the product, queues, heartbeats, permessage-deflate.

pub mod closing;
pub mod frame;
pub mod handshake;
mod header;
mod message;
mod reader;
mod tap;
mod writer;

pub use handshake::{Connection, Refusal, UpgradeError};
pub use message::{Kinds, Limits, Message, ReadError};
pub use reader::Reader;
pub use writer::Writer;
