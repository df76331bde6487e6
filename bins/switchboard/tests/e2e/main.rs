//! The product as its clients see it: real processes, real PostgreSQL, real sockets.
// Helpers of tests are tests too, but clippy's own exception ends at functions marked `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chaos;
mod commands;
mod conversation;
mod devices;
mod doors;
mod drain;
mod ending;
mod frames;
mod input;
mod listener;
mod local;
mod members;
mod outage;
mod pooler;
mod program;
mod raw;
mod session;
mod signin;
mod single;
mod slow;
mod sse;
mod wire;
mod world;
