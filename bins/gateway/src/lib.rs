//! WebSocket sessions of devices and agent consumers.
//!
//! What lives here: the WebSocket layer ([`websocket`]) and, on top of it, the sessions that speak
//! the product's protocol. What never lives here: SQL, rules of the product, HTTP routes other than
//! the gateway's own.

pub mod websocket;
