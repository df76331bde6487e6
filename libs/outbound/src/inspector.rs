//! Where a URL leads, for those who keep it and send nothing.

use std::fmt;
use std::time::Duration;

use reqwest::Url;
use tokio::time::timeout;

use crate::addresses::Guard;
use crate::error::{OutboundError, Refusal};
use crate::resolver::{self, Lookup, Resolver, Unresolved};
use crate::settings::OutboundSettings;
use crate::url;

/// Judges URLs as [`Outbound`](crate::Outbound) does, lookup included, without sending anything.
///
/// Good for telling whoever names a URL what is wrong with it. It is no guard: the name may lead elsewhere a moment later, so
/// whatever is sent goes through [`Outbound`](crate::Outbound) all the same.
pub struct Inspector {
    guard: Guard,
    resolver: Resolver,
    allow_http: bool,
    limit: Duration,
}

impl fmt::Debug for Inspector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inspector").field("allow_http", &self.allow_http).finish_non_exhaustive()
    }
}

impl Inspector {
    /// With these settings.
    #[must_use]
    pub fn new(settings: &OutboundSettings) -> Self {
        Self::with(settings, resolver::system())
    }

    fn with(settings: &OutboundSettings, lookup: Lookup) -> Self {
        let guard = Guard::new(&settings.allow_private);
        Self {
            resolver: Resolver::new(guard.clone(), lookup),
            guard,
            allow_http: settings.allow_http,
            limit: settings.connect_timeout,
        }
    }

    /// Reads a URL, and looks its host up, within `outbound.connect_timeout`.
    ///
    /// # Errors
    ///
    /// [`OutboundError::Refused`] if nothing may be sent there; the others say that it could not be found out.
    pub async fn inspect(&self, text: &str) -> Result<Url, OutboundError> {
        let url = url::check(text, &self.guard, self.allow_http).map_err(Refusal::Url)?;
        // Hosts that are addresses were judged with the URL.
        let Some(name) = url.domain() else { return Ok(url) };
        let host = name.to_owned();
        match timeout(self.limit, self.resolver.find(name)).await {
            Ok(Ok(_)) => Ok(url),
            Ok(Err(Unresolved::NotPublic)) => Err(Refusal::NotPublic { host }.into()),
            Ok(Err(Unresolved::Unknown)) => {
                Err(OutboundError::Unreachable { host, what: "there is no such name" })
            }
            Err(_) => Err(OutboundError::TimedOut { host, limit: self.limit }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::IpAddr;
    use std::sync::{Arc, mpsc};

    use super::*;

    fn inspector(lookup: impl Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync + 'static) -> Inspector {
        Inspector::with(&OutboundSettings::default(), Arc::new(lookup))
    }

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_refused_and_the_address_not_told() {
        let inspector = inspector(|name| {
            Ok(match name {
                "out.example.com" => addresses(&["8.8.8.8", "2606:4700:4700::1111"]),
                "both.example.com" => addresses(&["8.8.8.8", "10.1.2.3"]),
                "metadata.example.com" => addresses(&["169.254.169.254"]),
                "six.example.com" => addresses(&["::ffff:10.1.2.3"]),
                "local.example.com" => addresses(&["::1"]),
                _ => return Err(io::ErrorKind::NotFound.into()),
            })
        });
        let url = inspector.inspect("https://out.example.com/topsecret").await.unwrap();
        assert_eq!(url.path(), "/topsecret");
        for name in ["both", "metadata", "six", "local"] {
            let error =
                inspector.inspect(&format!("https://{name}.example.com/topsecret")).await.unwrap_err();
            assert_eq!(error, Refusal::NotPublic { host: format!("{name}.example.com") }.into());
        }
        let error = inspector.inspect("https://gone.example.com/topsecret").await.unwrap_err();
        assert!(error.is_retryable() && error.to_string().contains("no such name"), "{error}");
    }

    #[tokio::test]
    async fn a_host_that_is_an_address_is_not_looked_up() {
        let inspector = inspector(|name| panic!("asked for {name}"));
        assert!(inspector.inspect("https://8.8.8.8/").await.is_ok());
        assert!(inspector.inspect("https://[2606:4700:4700::1111]/").await.is_ok());
        for url in [
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://0x7f.1/",
            "http://8.8.8.8/",
            "https://localhost",
        ] {
            let error = inspector.inspect(url).await.expect_err(url);
            assert!(matches!(error, OutboundError::Refused(Refusal::Url(_))), "{error}");
        }
    }

    #[tokio::test]
    async fn a_name_server_that_is_silent_is_not_waited_for_long() {
        let (end, ended) = mpsc::channel::<()>();
        let ended = std::sync::Mutex::new(ended);
        let lookup = move |_: &str| {
            let _ = ended.lock().unwrap().recv();
            Ok(Vec::new())
        };
        let settings =
            OutboundSettings { connect_timeout: Duration::from_millis(20), ..OutboundSettings::default() };
        let inspector = Inspector::with(&settings, Arc::new(lookup));
        let error = inspector.inspect("https://slow.example.com/").await.unwrap_err();
        assert!(matches!(error, OutboundError::TimedOut { .. }), "{error}");
        drop(end);
    }
}
