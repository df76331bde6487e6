//! Settings of REST and SSE.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use auth::TrustedProxies;
use domain::Invalid;
use serde::{Deserialize, Serialize};

use super::AllowedOrigins;
use super::check::{HOUR, MILLISECOND, span, within};

/// Section `http`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpSettings {
    /// Where REST and SSE are served.
    pub listen: SocketAddr,
    /// Networks of proxies whose `X-Forwarded-For` is believed, such as `10.0.0.0/8`.
    pub trusted_proxies: TrustedProxies,
    /// Origins of pages whose scripts may call the API, such as `https://chat.example.com`; `*` allows all.
    pub allowed_origins: AllowedOrigins,
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
            allowed_origins: AllowedOrigins::default(),
            max_body_bytes: 256 * 1024,
            request_timeout: Duration::from_secs(15),
            header_read_timeout: Duration::from_secs(30),
            peer_timeout: Duration::from_secs(60),
            max_connections: 20_000,
        }
    }
}

impl HttpSettings {
    /// Checks what the types alone do not.
    ///
    /// # Errors
    ///
    /// The first key whose value can't work.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.max_body_bytes < 1024 {
            let given = format!("{} bytes", self.max_body_bytes);
            return Err(Invalid::described("http.max_body_bytes", given, "1024 or more"));
        }
        if self.request_timeout.is_zero() {
            return Err(Invalid::described("http.request_timeout", "0", "more than 0"));
        }
        span("http.header_read_timeout", self.header_read_timeout, MILLISECOND, HOUR)?;
        span("http.peer_timeout", self.peer_timeout, MILLISECOND, 24 * HOUR)?;
        within("http.max_connections", self.max_connections, 1, 10_000_000)?;
        self.allowed_origins.check("http.allowed_origins")
    }
}
