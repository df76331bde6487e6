//! How a consumer is set up.

use std::fmt;
use std::time::Duration;

use protocol::Encoding;
use protocol::frame::Slot;

use crate::session::Backoff;
use crate::socket::Connector;
use crate::{SessionSettings, SignIn};

/// How a consumer is set up.
#[derive(Clone)]
pub struct ConsumerSettings {
    /// Addresses of gateways, tried in turn: `ws://.../v1/gateway`.
    pub gateways: Vec<String>,
    /// The token of the agent.
    pub token: String,
    /// The name of the consumer: one connection at a time has it, the newest.
    pub name: String,
    /// How frames are written.
    pub encoding: Encoding,
    /// The waits between attempts.
    pub backoff: Backoff,
    /// How long a step may take: connection, `hello`, `ready`, one write.
    pub deadline: Duration,
    /// TLS and the like.
    pub connector: Connector,
    /// How many events wait for the application before the server is no longer read.
    pub backlog: usize,
    /// The time between two changes of documents that are sent, over all runs: what is changed meanwhile goes
    /// together.
    pub pace: Duration,
    /// Frames a second, whatever they are; less than the server's `gateway.frame_rate` (100).
    pub frame_rate: u32,
    /// Largest change that is sent at once, as JSON; less than the server's `gateway.max_frame_bytes` (128 KiB).
    pub patch_bytes: usize,
    /// Largest document of a run, as JSON; not more than the server's `runs.max_doc_bytes` (1 MiB).
    pub document_bytes: usize,
}

impl fmt::Debug for ConsumerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsumerSettings")
            .field("gateways", &self.gateways)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl ConsumerSettings {
    /// With usual values for the rest.
    #[must_use]
    pub fn new(gateways: Vec<String>, token: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            gateways,
            token: token.into(),
            name: name.into(),
            encoding: Encoding::Json,
            backoff: Backoff::default(),
            deadline: Duration::from_secs(10),
            connector: Connector::default(),
            backlog: 1024,
            pace: Duration::from_millis(20),
            frame_rate: 80,
            patch_bytes: 64 * 1024,
            document_bytes: 1024 * 1024,
        }
    }

    pub(super) fn session(&self) -> SessionSettings {
        let slot = Slot::Consumer(self.name.clone());
        SessionSettings {
            encoding: self.encoding,
            backoff: self.backoff,
            deadline: self.deadline,
            connector: self.connector.clone(),
            // The consumer has a bound of its own.
            updates: 16,
            ..SessionSettings::new(self.gateways.clone(), SignIn::Token(self.token.clone()), slot)
        }
    }
}
