//! Tests of the HTTP face: a node of role api in this process, on a real PostgreSQL, asked over HTTP. The
//! modules are laid out like the paths.
// Helpers of tests are tests too, but clippy's own exception ends at functions marked `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod app;
mod call;
mod edges;
mod faults;
mod secrets;
mod v1;
mod well_known;
mod work;
