//! WebSocket sessions of devices and agent consumers.
//!
//! What lives here: the WebSocket layer ([`websocket`]) and, on top of it, connections that speak
//! the product's protocol ([`gateway`]), and the role that serves them ([`build`]). What never lives here: SQL, rules of the product, HTTP routes other than
//! the gateway's own.

mod connection;
mod credentials;
pub mod gateway;
pub mod metrics;
mod role;
pub mod websocket;

pub use gateway::{Gateway, Parts};
pub use metrics::GatewayMetrics;
pub use role::{build, gateway};
