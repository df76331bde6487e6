//! A private PostgreSQL server on this machine.
//!
//! Finds the server's programs, makes a data directory, runs `postgres` as a child on a loopback
//! port as a user who is never root, and stops, crashes and restarts it. `switchboard cluster` runs on it, and
//! so do the tests. One directory belongs to one server and is held by a lock; whatever an earlier
//! run left there (a stale pid file, a living postmaster, orphaned backends, half of an `initdb`) is
//! put in order at the next start.
//!
//! What never lives here: anything of ours. No schema, no queries of the product, no other crate of
//! the workspace. And never a server that listens on more than loopback.

mod binaries;
mod directory;
mod error;
mod login;
mod options;
mod postmaster;
mod server;
pub mod tether;
mod user;

pub use binaries::Binaries;
pub use error::Error;
pub use login::Login;
pub use options::Options;
pub use server::{Server, query};
pub use user::reachable;
