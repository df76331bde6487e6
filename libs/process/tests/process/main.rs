//! Serving, health and supervision over real sockets.

#![allow(clippy::expect_used, clippy::panic, reason = "a test that can't go on fails")]

mod admin;
mod http;
mod supervise;
mod wire;
