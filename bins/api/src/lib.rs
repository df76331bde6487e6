//! The HTTP face of Switchboard.
//!
//! Routes under `/v1` take JSON, call `operations` or read the store, and answer JSON or a problem document
//! (RFC 9457). What is asked is read strictly ([`extract`]): an unknown field, a wrong type or a
//! value out of range is named. [`problem`] is the one place where kinds of errors become statuses, and
//! [`layers`] what every request passes: request ids, logs, CORS, deadlines, rate limits.
//!
//! What never lives here: rules of the product, SQL, frames of the gateway. No secret is logged: log
//! lines carry the pattern of a route, never its values, query or body.

pub mod extract;
pub mod layers;
pub mod metrics;
pub mod openapi;
pub mod problem;
pub mod pushes;
mod role;
pub mod router;
pub mod routes;
pub mod shapes;
pub mod state;
pub mod stream;

pub use metrics::ApiMetrics;
pub use problem::Problem;
pub use role::{api, build};
pub use router::router;
pub use state::{Api, Parts};
