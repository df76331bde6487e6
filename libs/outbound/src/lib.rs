//! HTTP requests to addresses that users name: webhooks.
//!
//! Whoever may name an address to a server can try to use it as a hand inside of its network (server-side request
//! forgery): to ask the cloud for the credentials of the machine, or to talk to a database that trusts its
//! neighbours. So [`Outbound`] connects to public addresses only, and to networks that the operator allows.
//!
//! What makes the guard hold is where it stands: in the resolver that the connector asks, so what is checked
//! and what is connected to is one list. A name that answers with another address the next time (DNS
//! rebinding) finds no next time. Redirects are not followed, proxies of the environment not used, names and passwords in URLs refused.
//!
//! What never lives here: what is sent and why, signatures (`auth::signature`), retries. Nothing but the host of a URL
//! stands in an error: the rest may carry secrets.

mod addresses;
pub mod answer;
pub mod error;
pub mod inspector;
mod resolver;
pub mod settings;
mod url;

use std::fmt;
use std::time::Duration;

use domain::Invalid;
pub use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder};
pub use reqwest::{StatusCode, Url};
use tokio::time::{Instant, timeout_at};

pub use answer::Answer;
pub use error::{OutboundError, Refusal, SetupError};
pub use inspector::Inspector;
pub use settings::OutboundSettings;

use addresses::Guard;
use resolver::{Lookup, Resolver};

/// What requests call themselves.
const USER_AGENT: &str = concat!("switchboard/", env!("CARGO_PKG_VERSION"));

/// A request to be sent.
pub struct Post<'a> {
    /// Where to.
    pub url: &'a str,
    /// What is sent beside the headers of every request (`host`, `user-agent`, `content-length`, `accept`).
    pub headers: HeaderMap,
    /// The body, as it stands.
    pub body: Vec<u8>,
    /// How long all of it may take: looking the name up, connecting, sending, and reading the answer to its end.
    pub timeout: Duration,
}

/// Sends requests to where users say.
pub struct Outbound {
    guard: Guard,
    settings: OutboundSettings,
    http: Client,
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbound").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Outbound {
    /// Prepares to send. Certificates are checked against the roots of the operating system.
    ///
    /// # Errors
    ///
    /// When TLS can't be set up, as when the system has no root certificates.
    pub fn new(settings: &OutboundSettings) -> Result<Self, SetupError> {
        Self::build(settings, resolver::system(), Client::builder())
    }

    fn build(settings: &OutboundSettings, lookup: Lookup, http: ClientBuilder) -> Result<Self, SetupError> {
        let guard = Guard::new(&settings.allow_private);
        let http = http
            .user_agent(USER_AGENT)
            .dns_resolver(Resolver::new(guard.clone(), lookup))
            .redirect(Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .no_proxy()
            .connect_timeout(settings.connect_timeout)
            // The hosts are as many as users name: no connection is kept for a next time that may never come.
            .pool_max_idle_per_host(0)
            .build()
            .map_err(|error| SetupError::new(&error))?;
        Ok(Self { guard, settings: settings.clone(), http })
    }

    /// Whether this URL may be used, as far as that can be said without the network: what a name resolves to is seen
    /// when something is sent.
    ///
    /// # Errors
    ///
    /// About the field `url`, and what is allowed. Of the URL nothing but scheme and host is shown.
    pub fn check_url(&self, url: &str) -> Result<Url, Invalid> {
        url::check(url, &self.guard, self.settings.allow_http)
    }

    /// Sends a request, once, and gives back what was answered, whatever its status. A redirect is an answer.
    ///
    /// # Errors
    ///
    /// When there is no answer: see [`OutboundError`], which says whether trying again can help.
    pub async fn post(&self, request: Post<'_>) -> Result<Answer, OutboundError> {
        let Post { url, headers, body, timeout: limit } = request;
        let url = self.check_url(url).map_err(Refusal::Url)?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let deadline = Instant::now() + limit;
        let sent = self.http.post(url).headers(headers).body(body).send();
        let response = match timeout_at(deadline, Box::pin(sent)).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(OutboundError::of(&error, host, self.settings.connect_timeout)),
            Err(_) => return Err(OutboundError::TimedOut { host, limit }),
        };
        Ok(Answer::read(response, self.settings.max_response_bytes, deadline).await)
    }
}

#[cfg(test)]
mod tests;
