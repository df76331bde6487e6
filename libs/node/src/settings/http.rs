//! Settings of REST and SSE.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use auth::TrustedProxies;
use serde::{Deserialize, Serialize};

/// Section `http`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSettings {
    /// Where REST and SSE are served.
    pub listen: SocketAddr,
    /// Networks of proxies whose `X-Forwarded-For` is believed, such as `10.0.0.0/8`.
    pub trusted_proxies: TrustedProxies,
    /// Origins of pages whose scripts may call the API, such as `https://chat.example.com`; `*` allows all.
    pub allowed_origins: Vec<String>,
    /// Largest body of a request, in bytes.
    pub max_body_bytes: usize,
    /// How long a request may take.
    #[serde(with = "domain::duration")]
    pub request_timeout: Duration,
    /// How long a connection may take to send the headers of a request.
    #[serde(with = "domain::duration")]
    pub header_read_timeout: Duration,
    /// How long a peer may leave what was sent unacknowledged, or probes unanswered, until it counts as gone; also for
    /// WebSockets.
    #[serde(with = "domain::duration")]
    pub peer_timeout: Duration,
    /// Most open connections.
    pub max_connections: usize,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            trusted_proxies: TrustedProxies::default(),
            allowed_origins: Vec::new(),
            max_body_bytes: 256 * 1024,
            request_timeout: Duration::from_secs(15),
            header_read_timeout: Duration::from_secs(30),
            peer_timeout: Duration::from_secs(60),
            max_connections: 20_000,
        }
    }
}
