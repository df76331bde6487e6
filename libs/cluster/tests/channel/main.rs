//! The channel on a real PostgreSQL, with real faults.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod listening;
mod node;
mod notifying;
mod servers;
