//! The WebSocket layer against a client that writes bytes by hand.

mod bench;
mod ending;
mod handshake;
mod reading;
mod writing;
