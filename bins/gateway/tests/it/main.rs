//! Tests of the gateway over real sockets.
// Helpers of tests are tests too, but clippy's own exception ends at functions marked `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod websocket;
