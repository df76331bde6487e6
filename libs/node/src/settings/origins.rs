//! Origins of pages, as browsers send them.

use domain::Invalid;
use serde::{Deserialize, Serialize};

const EVERY: &str = "*";
const ALLOWED: &str = "origins such as https://chat.example.com or http://localhost:3000 (lower case, no path, no port that the scheme implies), or *";

/// Pages whose scripts may come: a list of origins, or `*` for all.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct AllowedOrigins(Vec<String>);

impl AllowedOrigins {
    /// Every origin.
    #[must_use]
    pub fn all() -> Self {
        Self::from_iter([EVERY])
    }

    /// Whether a request with this `Origin` may come. Browsers write an origin in one way only, so bytes are compared.
    #[must_use]
    pub fn allow(&self, origin: &[u8]) -> bool {
        self.0.iter().any(|listed| listed == EVERY || listed.as_bytes() == origin)
    }

    /// Checks that a browser could send each of them. `key` is the setting that they are.
    ///
    /// # Errors
    ///
    /// The first one that could never match.
    pub(super) fn check(&self, key: &'static str) -> Result<(), Invalid> {
        match self.0.iter().find(|listed| *listed != EVERY && !is_origin(listed)) {
            Some(bad) => Err(Invalid::new(key, bad, ALLOWED)),
            None => Ok(()),
        }
    }
}

impl<T: Into<String>> FromIterator<T> for AllowedOrigins {
    fn from_iter<I: IntoIterator<Item = T>>(origins: I) -> Self {
        Self(origins.into_iter().map(Into::into).collect())
    }
}

fn is_origin(text: &str) -> bool {
    let (implied, rest) = match text.split_once("://") {
        Some(("http", rest)) => ("80", rest),
        Some(("https", rest)) => ("443", rest),
        _ => return false,
    };
    // The colons within brackets are of an IPv6 address.
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let good_host = match host.strip_prefix('[') {
        Some(address) => {
            address.strip_suffix(']').is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
        }
        None => {
            !host.is_empty()
                && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'))
        }
    };
    let good_port = port.is_none_or(|port| {
        port != implied && !port.starts_with(['0', '+']) && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    good_host && good_port && !host.bytes().any(|b| b.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_could_send_is_allowed_to_be_listed() {
        for good in [
            "*",
            "https://chat.example.com",
            "http://localhost:8080",
            "http://127.0.0.1:3000",
            "http://[::1]",
            "http://[::1]:8080",
            "https://xn--bcher-kva.example.com",
        ] {
            assert_eq!(AllowedOrigins::from_iter([good]).check("http.allowed_origins"), Ok(()), "{good}");
        }
        for bad in [
            "",
            "null",
            "nowhere",
            "chat.example.com",
            "https://",
            "://x",
            "ftp://chat.example.com",
            "https://chat.example.com/",
            "https://Chat.example.com",
            "HTTPS://chat.example.com",
            "https://chat.example.com:443",
            "http://chat.example.com:80",
            "http://chat.example.com:",
            "http://chat.example.com:0",
            "http://chat.example.com:080",
            "http://chat.example.com:65536",
            "https://*.example.com",
            "https://alex@chat.example.com",
            "https://a b",
            "http://[::1",
            "http://::1",
        ] {
            let refused =
                AllowedOrigins::from_iter(["http://localhost:3000", bad]).check("gateway.allowed_origins");
            let refused = refused.expect_err(bad);
            assert_eq!((refused.field, refused.given), ("gateway.allowed_origins", format!("{bad:?}")));
        }
    }

    #[test]
    fn an_origin_is_the_whole_of_it() {
        let listed = AllowedOrigins::from_iter(["https://chat.example.com", "http://localhost:8080"]);
        for good in ["https://chat.example.com", "http://localhost:8080"] {
            assert!(listed.allow(good.as_bytes()), "{good}");
        }
        for bad in [
            "http://chat.example.com",
            "https://chat.example.com.example.org",
            "https://chat.example.com:4430",
            "http://localhost",
            "null",
            "*",
            "",
        ] {
            assert!(!listed.allow(bad.as_bytes()), "{bad}");
            assert!(AllowedOrigins::all().allow(bad.as_bytes()), "{bad}");
        }
        assert!(!AllowedOrigins::default().allow(b"https://chat.example.com"));
    }
}
