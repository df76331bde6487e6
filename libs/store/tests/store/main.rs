//! Tests of the store: the contract suite against each database, and what is special to one.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, reason = "tests")]

mod postgres;
mod sqlite;
mod suite;
