//! The product as its clients see it: real processes, real PostgreSQL, real sockets.
// Helpers of tests are tests too, but clippy's own exception ends at functions marked `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// Helpers are here a little before the tests that need them.
#![allow(dead_code)]

mod chaos;
mod conversation;
mod devices;
mod drain;
mod ending;
mod listener;
mod outage;
mod signin;
mod slow;
mod sse;
mod wire;
mod world;
