//! What tests of other crates stand on, tested itself.
#![allow(clippy::expect_used)]

mod cluster;
mod postgres;
mod proxy;
