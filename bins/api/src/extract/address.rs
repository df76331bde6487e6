//! Under which address the caller has reached us.

use std::net::SocketAddr;

use axum::extract::{ConnectInfo, FromRequestParts};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use crate::problem::Problem;
use crate::state::Api;

/// Scheme and host that the caller used, as far as they are told. Proxies of `http.trusted_proxies` are believed what they say of them.
///
/// Only for what is answered to the caller: who made the host up has fooled themself alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(Option<String>);

impl Address {
    /// The URL of a path here; the path alone when the caller told no good host.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.0.as_deref().unwrap_or_default())
    }

    fn read(headers: &HeaderMap, by_proxy: bool) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        // Of several proxies the first one heard what the caller said.
        let forwarded = |name| {
            let first = text(name).filter(|_| by_proxy).and_then(|list| list.split(',').next());
            first.map(str::trim)
        };
        let scheme = if forwarded("x-forwarded-proto") == Some("https") { "https" } else { "http" };
        let host = forwarded("x-forwarded-host").or_else(|| text(header::HOST.as_str()));
        Self(host.filter(|host| is_host(host)).map(|host| format!("{scheme}://{host}")))
    }
}

impl FromRequestParts<Api> for Address {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let peer = parts
            .extensions
            .get::<ConnectInfo<SocketAddr>>()
            .map(|ConnectInfo(peer)| peer.ip().to_canonical());
        let by_proxy = peer.is_some_and(|peer| api.settings().trusted_proxies.trusts(peer));
        Ok(Self::read(&parts.headers, by_proxy))
    }
}

/// A name or an address, with a port or without.
fn is_host(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    (1..=300).contains(&text.len()) && text.bytes().all(good)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;

    fn url(headers: &[(&'static str, &'static str)], by_proxy: bool) -> String {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        Address::read(&headers, by_proxy).url("/v1/x")
    }

    #[test]
    fn the_callers_own_words_count_and_those_of_trusted_proxies() {
        let direct = [("host", "chat.example.com:8080")];
        assert_eq!(url(&direct, false), "http://chat.example.com:8080/v1/x");
        let proxied = [
            ("host", "api-1:8080"),
            ("x-forwarded-host", "chat.example.com, inner.example.com"),
            ("x-forwarded-proto", "https"),
        ];
        assert_eq!(url(&proxied, true), "https://chat.example.com/v1/x");
        assert_eq!(url(&proxied, false), "http://api-1:8080/v1/x", "anybody can send these headers");
        assert_eq!(
            url(&[("host", "[::1]:8080"), ("x-forwarded-proto", "https")], true),
            "https://[::1]:8080/v1/x"
        );
        for bad in ["", "a b", "a/b", "alex@example.com", "a\"b"] {
            assert_eq!(url(&[("host", bad)], false), "/v1/x", "{bad}");
        }
    }
}
