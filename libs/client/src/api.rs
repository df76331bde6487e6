//! The REST routes of the role api.

mod account;
mod agents;
mod call;
mod devices;
mod error;
mod messages;
mod notifications;
mod push;
mod rooms;
mod runs;
mod shapes;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use reqwest::Url;
use tokio::sync::Mutex;

pub use agents::{AgentSettings, NewAgent};
pub use error::ApiError;
pub use messages::{NewMessage, Range};
pub use notifications::{
    Notification, NotificationPage, NotificationStep, NotificationTrace, ReadNotifications, Unread,
    UnreadOfRoom,
};
pub use push::{LastPush, PushKeys, PushSubscription, PushTarget};
pub use rooms::NewRoom;
pub use shapes::{
    Agent, AgentToken, Choice, EventPage, MadeAgent, Member, MemberId, NewDevice, Page, Room, Run, Sent,
    SignedIn, Ticket, ToolCall, ToolStatus,
};

/// The REST side of a node, in the name of at most one person or agent.
///
/// Clones share what they are signed in with. An access token past its time is refreshed once, however
/// many calls find out together, and the call is made again.
#[derive(Clone)]
pub struct Api {
    base: Url,
    http: reqwest::Client,
    credentials: Arc<Credentials>,
}

#[derive(Default)]
struct Credentials {
    tokens: RwLock<Option<Tokens>>,
    /// Held while a refresh is on its way: a refresh token is good once.
    refreshing: Mutex<()>,
}

#[derive(Clone)]
struct Tokens {
    access: String,
    refresh: Option<String>,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl Api {
    /// The API below this address, such as `http://127.0.0.1:8080`, signed in as nobody.
    ///
    /// # Errors
    ///
    /// Not an address, or TLS can't be set up.
    pub fn new(base: &str) -> Result<Self, ApiError> {
        let http = reqwest::Client::builder()
            .connect_timeout(Duration::from_secs(5))
            .timeout(Duration::from_secs(60))
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(ApiError::transport)?;
        Self::with_http(base, http)
    }

    /// As [`new`](Self::new), with an HTTP client that is set up otherwise.
    ///
    /// # Errors
    ///
    /// Not an address.
    pub fn with_http(base: &str, http: reqwest::Client) -> Result<Self, ApiError> {
        Ok(Self { base: address(base)?, http, credentials: Arc::default() })
    }

    /// The same person at another node.
    ///
    /// # Errors
    ///
    /// Not an address.
    pub fn at(&self, base: &str) -> Result<Self, ApiError> {
        Ok(Self { base: address(base)?, ..self.clone() })
    }

    /// The same node, signed in as nobody, sharing connections.
    #[must_use]
    pub fn signed_out(&self) -> Self {
        Self { credentials: Arc::default(), ..self.clone() }
    }

    /// The same node with a token: an access token, or that of an agent.
    #[must_use]
    pub fn with_token(&self, token: impl Into<String>) -> Self {
        let api = self.signed_out();
        *api.credentials.tokens.write() = Some(Tokens { access: token.into(), refresh: None });
        api
    }

    /// The address that routes are below.
    #[must_use]
    pub fn base(&self) -> &str {
        self.base.as_str()
    }

    /// The access token in use.
    #[must_use]
    pub fn access_token(&self) -> Option<String> {
        self.credentials.tokens.read().as_ref().map(|tokens| tokens.access.clone())
    }
}

fn address(base: &str) -> Result<Url, ApiError> {
    let url = Url::parse(base).map_err(|error| ApiError::Address(format!("{base:?}: {error}")))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        _ => Err(ApiError::Address(format!("{base:?}: allowed are http:// and https://"))),
    }
}
