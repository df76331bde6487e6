//! Settings of the gateway.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::AllowedOrigins;

/// Section `gateway`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewaySettings {
    /// Where WebSockets are taken, at `/v1/gateway`.
    pub listen: SocketAddr,
    /// Origins of pages whose scripts may connect, such as `https://chat.example.com`; `*` allows all. Clients
    /// that are no browsers send none, and are not asked.
    pub allowed_origins: AllowedOrigins,
    /// How often clients ping; one that missed two is closed with 4009. The server is never silent for longer.
    #[serde(with = "domain::duration")]
    pub heartbeat_interval: Duration,
    /// How long a connection may take to identify or resume; then 4003.
    #[serde(with = "domain::duration")]
    pub identify_timeout: Duration,
    /// Over how long clients should spread when they reconnect, told in `hello`.
    #[serde(with = "domain::duration")]
    pub reconnect_jitter: Duration,
    /// How long a connection may be behind, or a write be stuck; then 4010.
    #[serde(with = "domain::duration")]
    pub behind_limit: Duration,
    /// Largest frame of a client, in bytes over all its fragments; then 4011.
    pub max_frame_bytes: usize,
    /// Most fragments of one frame.
    pub max_fragments: u32,
    /// Most connections of this node; then 4013.
    pub max_connections: usize,
    /// Frames a client may send, per second.
    pub frame_rate: u32,
    /// Frames a client may send at once; beyond rate and burst it is closed with 4008.
    pub frame_burst: u32,
    /// How long the peer is waited for when a connection closes.
    #[serde(with = "domain::duration")]
    pub close_timeout: Duration,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8081)),
            allowed_origins: AllowedOrigins::default(),
            heartbeat_interval: Duration::from_secs(20),
            identify_timeout: Duration::from_secs(10),
            reconnect_jitter: Duration::from_secs(3),
            behind_limit: Duration::from_secs(60),
            max_frame_bytes: 128 * 1024,
            max_fragments: 64,
            max_connections: 20_000,
            frame_rate: 100,
            frame_burst: 400,
            close_timeout: Duration::from_secs(2),
        }
    }
}
