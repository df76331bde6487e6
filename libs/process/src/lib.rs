//! What every Switchboard process does, whatever its role.
//!
//! Here a node reads its [`settings`], writes structured logs ([`telemetry`]), says whether it is
//! alive and ready ([`health`]), counts ([`metrics`]), shows both on a listener of its own ([`admin`]),
//! serves HTTP connections ([`http`]), and owns every task until the last one has left ([`supervise`]).
//!
//! What never lives here: anything that knows what a room, a run or a database is. Roles (the
//! crates under `bins/`) put their own parts under this supervision; other libraries do not use
//! this crate at all, they take a metrics registry and a cancellation token and give back futures.

pub mod admin;
pub mod health;
pub mod http;
pub mod metrics;
pub mod settings;
pub mod supervise;
pub mod telemetry;
