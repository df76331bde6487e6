//! One live connection, as the hub sees it.

use domain::{AuthSessionId, ConnectionId, RoomId, StreamRef, UserId};
use parking_lot::Mutex;
use prometheus::IntGauge;
use store::devices::Slot;

use crate::outbox::{Limits, Outbox};

/// Whose connection it is, known from the sign-in.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionMeta {
    /// The connection.
    pub id: ConnectionId,
    /// Who signed in.
    pub user: UserId,
    /// With which sign-in; the connection ends with it.
    pub session: AuthSessionId,
}

/// What a person looks at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Focus {
    /// The room on the screen.
    pub room: Option<RoomId>,
    /// Nobody has touched the device for a while.
    pub idle: bool,
}

/// A live connection: identified, with an outbox and the streams it follows.
#[derive(Debug)]
pub struct Connection {
    /// Whose it is.
    pub meta: ConnectionMeta,
    /// The device's slot it holds; streams for a moment (SSE without a device) hold none.
    pub slot: Option<Slot>,
    /// What waits for its socket.
    pub outbox: Outbox,
    /// The streams it follows; none once it is gone. Changed by the hub alone.
    pub(crate) streams: Mutex<Option<Vec<StreamRef>>>,
    focus: Mutex<Focus>,
}

impl Connection {
    /// A connection that follows nothing yet. `behind` counts it while it is behind.
    #[must_use]
    pub fn new(meta: ConnectionMeta, slot: Option<Slot>, limits: Limits, behind: IntGauge) -> Self {
        Self {
            meta,
            slot,
            outbox: Outbox::new(limits, behind),
            streams: Mutex::new(Some(Vec::new())),
            focus: Mutex::default(),
        }
    }

    /// Whether it follows a stream now.
    #[must_use]
    pub fn follows(&self, stream: StreamRef) -> bool {
        self.streams.lock().as_ref().is_some_and(|streams| streams.contains(&stream))
    }

    /// The streams it follows now.
    #[must_use]
    pub fn streams(&self) -> Vec<StreamRef> {
        self.streams.lock().clone().unwrap_or_default()
    }

    /// Notes a stream. False when it is noted already, or the connection is gone.
    pub(crate) fn follow(&self, stream: StreamRef) -> bool {
        match self.streams.lock().as_mut() {
            Some(streams) if !streams.contains(&stream) => {
                streams.push(stream);
                true
            }
            _ => false,
        }
    }

    pub(crate) fn unfollow(&self, stream: StreamRef) {
        if let Some(streams) = self.streams.lock().as_mut() {
            streams.retain(|followed| *followed != stream);
        }
    }

    /// What the person looks at.
    #[must_use]
    pub fn focus(&self) -> Focus {
        *self.focus.lock()
    }

    /// Notes what the person looks at.
    pub fn set_focus(&self, focus: Focus) {
        *self.focus.lock() = focus;
    }
}
