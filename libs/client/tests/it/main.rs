//! Tests of the client against a gateway and an API that follow a script.
// Helpers of tests are tests too, but clippy's own exception ends at functions marked `#[test]`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod api;
mod consumer;
mod fake;
mod session;
mod socket;
