//! Which browsers' pages may connect.

use axum::http::HeaderValue;
use domain::Invalid;

/// The origins that are let in. A request without `Origin` comes from no browser and always is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origins(Allowed);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Allowed {
    All,
    Listed(Vec<String>),
}

const ALLOWED: &str = "\"*\", or origins such as \"https://chat.example.com\" or \"http://localhost:8080\"";

impl Origins {
    /// Reads the list of the configuration: `*` for all, or scheme, host and port as browsers send them.
    ///
    /// # Errors
    ///
    /// An entry that no browser would ever send, such as one with a path.
    pub fn new<S: AsRef<str>>(field: &'static str, list: &[S]) -> Result<Self, Invalid> {
        if list.iter().any(|entry| entry.as_ref() == "*") {
            return Ok(Self(Allowed::All));
        }
        let normal =
            |entry: &S| normal(entry.as_ref()).ok_or_else(|| Invalid::new(field, entry.as_ref(), ALLOWED));
        Ok(Self(Allowed::Listed(list.iter().map(normal).collect::<Result<_, _>>()?)))
    }

    /// Every origin.
    #[must_use]
    pub const fn all() -> Self {
        Self(Allowed::All)
    }

    /// Whether a request with this `Origin` is let in.
    #[must_use]
    pub fn allow(&self, origin: Option<&HeaderValue>) -> bool {
        let (Allowed::Listed(listed), Some(origin)) = (&self.0, origin) else { return true };
        let sent = origin.to_str().ok().and_then(normal);
        sent.is_some_and(|sent| listed.contains(&sent))
    }
}

/// An origin in lower case and without the port that its scheme implies; none if it is no origin.
fn normal(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let (scheme, rest) = lower.split_once("://")?;
    let host_chars = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    let good = !scheme.is_empty()
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && !rest.is_empty()
        && rest.chars().all(host_chars);
    let implied = match scheme {
        "http" => ":80",
        "https" => ":443",
        _ => "",
    };
    good.then(|| format!("{scheme}://{}", rest.strip_suffix(implied).unwrap_or(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(list: &[&str], origin: &str) -> bool {
        Origins::new("allowed_origins", list).unwrap().allow(Some(&HeaderValue::from_str(origin).unwrap()))
    }

    #[test]
    fn compares_what_browsers_send_with_what_is_listed() {
        let listed = ["https://Chat.example.com:443", "http://localhost:8080"];
        for good in ["https://chat.example.com", "http://localhost:8080", "HTTP://LOCALHOST:8080"] {
            assert!(allows(&listed, good), "{good}");
        }
        for bad in [
            "http://chat.example.com",
            "https://chat.example.com.example.org",
            "https://chat.example.com:4430",
            "http://localhost",
            "null",
            "",
        ] {
            assert!(!allows(&listed, bad), "{bad}");
            assert!(allows(&["http://localhost", "*"], bad), "{bad}");
        }
        assert!(Origins::new::<&str>("allowed_origins", &[]).unwrap().allow(None));
    }

    #[test]
    fn refuses_entries_that_could_never_match() {
        for bad in ["chat.example.com", "https://chat.example.com/", "https://", "://x", "https://a b"] {
            let refused = Origins::new("allowed_origins", &[bad]).expect_err(bad);
            assert!(refused.to_string().contains("allowed_origins"), "{refused}");
        }
    }
}
