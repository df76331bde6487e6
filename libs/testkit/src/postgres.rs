//! PostgreSQL for tests: a database each on a shared server, or a server of one's own.
//!
//! # The shared server
//!
//! nextest runs each test in a process of its own, so the server must outlive them and still not be left
//! running. Three parties share the directory `target/testkit/postgres`:
//!
//! - a *test process* holds `users.lock` shared from its first database to its end;
//! - the *starter* is a test process that, holding `start.lock`, finds no server that answers: it starts one, detached, and
//!   writes `url` and `pid`. It also starts a watchdog when nobody holds `watchdog.lock`;
//! - the *watchdog* (`watchdog.sh`) holds `watchdog.lock`. It stops the server and leaves only when it gets
//!   `users.lock` alone, so never under a test, and when no test was there for some minutes.
//!
//! What may die when: a test process at any time, for locks end with their owner. A starter before it wrote `url`: the
//! next one ends what it finds running. The watchdog: the next test process starts another. The server, or its
//! directory: the next test process starts another, and the watchdog ends what is left of the first.

mod database;
mod login;
mod own;
mod shared;

pub use database::TestDatabase;
pub use login::url_of_role;
pub use own::OwnServer;
