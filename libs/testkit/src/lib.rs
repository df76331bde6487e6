//! What integration tests stand on: real PostgreSQL, real faults, real processes.
//!
//! - [`postgres`]: a database per test on a server that all tests of the workspace share, servers of a test's own, users of roles.
//! - [`proxy`]: TCP with faults: cut, stalled, slow, late, refused.
//! - [`cluster`]: api, gateway and worker processes, or one process that stands for them, to be killed, stopped, frozen and cut off.
//! - [`nginx`]: a real proxy in front of nodes.
//! - [`model`]: a language model that says what the test wants.
//! - [`collector`]: a collector of traces that keeps what it is sent.
//! - [`push`]: a push service that reads what it is sent, and answers as the test wants.
//! - [`port`]: ports that stay a test's own over restarts.
//! - [`random`]: names that collide with nobody's.
//!
//! What is missing here (PostgreSQL, `flock`) fails the test with the reason; nothing is ever skipped.
//!
//! What never lives here: anything the product uses. Only `dev-dependencies` name this crate, and it knows no crate of
//! the workspace but `localpg`, so that each of them can test with it.
// A fault in here is a fault of the test, told by failing it.
#![allow(clippy::panic, clippy::expect_used)]

pub mod cluster;
pub mod collector;
pub mod http;
pub mod model;
pub mod nginx;
pub mod port;
pub mod postgres;
pub mod proxy;
pub mod push;
pub mod random;
pub mod workspace;
