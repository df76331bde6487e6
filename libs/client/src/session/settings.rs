//! How a session is set up.

use std::fmt;
use std::time::Duration;

use protocol::Encoding;
use protocol::frame::{Cursors, Slot};
use uuid::Uuid;

use crate::Api;
use crate::socket::Connector;

/// How each connection proves who one is.
#[derive(Clone)]
pub enum SignIn {
    /// A ticket for each connection, from these nodes; when one does not answer, from the next.
    Tickets(Vec<Api>),
    /// The same token every time: that of an agent.
    Token(String),
}

impl fmt::Debug for SignIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tickets(apis) => f.debug_tuple("Tickets").field(apis).finish(),
            Self::Token(_) => f.write_str("Token(..)"),
        }
    }
}

/// The waits between attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// The bound of the first wait; it doubles with each failure.
    pub first: Duration,
    /// The bound never grows beyond this.
    pub most: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { first: Duration::from_millis(500), most: Duration::from_secs(30) }
    }
}

/// What a user has of the streams already.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    /// The last number of each stream.
    pub cursors: Cursors,
    /// The log epoch that the numbers belong to, from [`Update::Ready`](crate::Update::Ready).
    pub log_epoch: Option<Uuid>,
}

/// How a session is set up.
#[derive(Debug, Clone)]
pub struct SessionSettings {
    /// Addresses of gateways, tried in turn: `ws://.../v1/gateway`.
    pub gateways: Vec<String>,
    /// How each connection signs in.
    pub sign_in: SignIn,
    /// The device or consumer.
    pub slot: Slot,
    /// How frames are written.
    pub encoding: Encoding,
    /// What the user has already; the rest is replayed.
    pub from: Position,
    /// The waits between attempts.
    pub backoff: Backoff,
    /// How long a step may take: ticket, connection, `hello`, `ready`, one write.
    pub deadline: Duration,
    /// After so long without an answer a message is sent again on the same connection.
    pub resend: Duration,
    /// How many updates wait for the user before the socket is no longer read; while a message waits for its answer, twice as many,
    /// before more are left out and come again once the user took those.
    pub updates: usize,
    /// How many messages wait for an answer before the next `send` has to wait.
    pub in_flight: usize,
    /// TLS and the like.
    pub connector: Connector,
}

impl SessionSettings {
    /// With usual values for the rest.
    #[must_use]
    pub fn new(gateways: Vec<String>, sign_in: SignIn, slot: Slot) -> Self {
        Self {
            gateways,
            sign_in,
            slot,
            encoding: Encoding::Json,
            from: Position::default(),
            backoff: Backoff::default(),
            deadline: Duration::from_secs(10),
            resend: Duration::from_secs(10),
            updates: 1024,
            in_flight: 256,
            connector: Connector::default(),
        }
    }
}
