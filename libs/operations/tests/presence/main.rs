//! Presence on a database: what writers write, and what both views see.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod stage;
mod telling;
mod views;
mod writer;
