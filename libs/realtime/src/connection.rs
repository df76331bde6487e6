//! One live connection, as the hub sees it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::{AuthSessionId, ConnectionId, Principal, RoomId, RunId, SlotSessionId, StreamRef, UserId};
use parking_lot::Mutex;
use prometheus::IntGauge;
use protocol::CloseCode;
use store::consumers::ConsumerSlot;
use store::devices::Slot;
use tokio::time::Instant;
use uuid::Uuid;

use crate::outbox::{Limits, Outbox};

/// Whose connection it is, known from the sign-in.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionMeta {
    /// The connection.
    pub id: ConnectionId,
    /// Who signed in.
    pub principal: Principal,
    /// With which sign-in; the connection ends with it.
    pub session: AuthSessionId,
}

impl ConnectionMeta {
    /// The person, if it is one.
    #[must_use]
    pub const fn user(&self) -> Option<UserId> {
        match self.principal {
            Principal::User(user) => Some(user),
            Principal::Agent(_) => None,
        }
    }
}

/// What a connection holds: the newest holder of each wins, on any node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Nothing: a stream for a moment (SSE without a device).
    Nothing,
    /// The slot of a person's device.
    Device(Slot),
    /// The place of an agent's consumer.
    Consumer(ConsumerSlot),
}

impl Hold {
    /// What is held, with the fencing number.
    #[must_use]
    pub const fn place(&self) -> Option<(Uuid, u64)> {
        match self {
            Self::Nothing => None,
            Self::Device(slot) => Some((slot.device.0, slot.epoch)),
            Self::Consumer(slot) => Some((slot.consumer.0, slot.epoch)),
        }
    }

    /// The session that holds it, by which it can be resumed.
    #[must_use]
    pub const fn session(&self) -> Option<SlotSessionId> {
        match self {
            Self::Nothing => None,
            Self::Device(slot) => Some(slot.session),
            Self::Consumer(slot) => Some(slot.session),
        }
    }

    /// The consumer's place, if it is one.
    #[must_use]
    pub const fn consumer(&self) -> Option<ConsumerSlot> {
        match self {
            Self::Consumer(slot) => Some(*slot),
            Self::Nothing | Self::Device(_) => None,
        }
    }

    /// What a connection is told that lost it.
    #[must_use]
    pub const fn lost(&self) -> CloseCode {
        match self {
            Self::Nothing | Self::Device(_) => CloseCode::DeviceReplaced,
            Self::Consumer(_) => CloseCode::ConsumerTakenOver,
        }
    }
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
    /// What it holds.
    pub hold: Hold,
    /// What waits for its socket.
    pub outbox: Outbox,
    /// When it began.
    pub began: Instant,
    /// The streams it follows; none once it is gone. Changed by the hub alone.
    pub(crate) streams: Mutex<Option<Vec<StreamRef>>>,
    focus: Mutex<Focus>,
    /// Runs of which it was last given something that is out of date by now, because its queue was full.
    stale_runs: Mutex<Vec<RunId>>,
    /// People of whom it was not told that they are seen differently, because its queue was full.
    missed_people: Mutex<Vec<UserId>>,
    /// Whether runs, presence and tool calls around it are to be looked up.
    looks_around: AtomicBool,
    live: AtomicBool,
}

impl Connection {
    /// A connection that follows nothing yet. `behind` counts it while it is behind.
    #[must_use]
    pub fn new(meta: ConnectionMeta, hold: Hold, limits: Limits, behind: IntGauge) -> Self {
        Self {
            meta,
            hold,
            outbox: Outbox::new(limits, behind),
            began: Instant::now(),
            streams: Mutex::new(Some(Vec::new())),
            focus: Mutex::default(),
            stale_runs: Mutex::default(),
            missed_people: Mutex::default(),
            looks_around: AtomicBool::new(meta.user().is_some()),
            live: AtomicBool::new(false),
        }
    }

    /// Whether it was told that it is live. Before, it is not counted as being there.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.live.load(Ordering::Relaxed)
    }

    /// It has been given all that it lacked when it began.
    pub(crate) fn set_live(&self) {
        self.live.store(true, Ordering::Relaxed);
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

    /// A frame of a run did not fit: its document is sent whole once the queue has drained.
    pub(crate) fn run_is_stale(&self, run: RunId) {
        let mut stale = self.stale_runs.lock();
        if !stale.contains(&run) {
            stale.push(run);
        }
        drop(stale);
        self.outbox.lag();
    }

    /// It could not be told how a person is seen: it is once the queue has drained.
    pub(crate) fn missed_person(&self, user: UserId) {
        let mut missed = self.missed_people.lock();
        if !missed.contains(&user) {
            missed.push(user);
        }
        drop(missed);
        self.outbox.lag();
    }

    /// The people it is to be told of.
    pub(crate) fn take_missed_people(&self) -> Vec<UserId> {
        std::mem::take(&mut *self.missed_people.lock())
    }

    /// It sees more than before: what is around is to be looked up.
    pub(crate) fn look_around(&self) {
        self.looks_around.store(true, Ordering::Relaxed);
        self.outbox.lag();
    }

    /// Whether what is around is to be looked up; asking takes it on.
    pub(crate) fn takes_look(&self) -> bool {
        self.looks_around.swap(false, Ordering::Relaxed)
    }

    /// The runs that are to be sent whole.
    pub(crate) fn take_stale_runs(&self) -> StaleRuns<'_> {
        let runs = std::mem::take(&mut *self.stale_runs.lock()).into();
        StaleRuns { connection: self, runs }
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

/// Runs that were taken to be sent whole. Those that were not settled when it is dropped are stale again.
pub(crate) struct StaleRuns<'a> {
    connection: &'a Connection,
    runs: VecDeque<RunId>,
}

impl StaleRuns<'_> {
    /// The next one.
    pub(crate) fn first(&self) -> Option<RunId> {
        self.runs.front().copied()
    }

    /// The next one is seen to.
    pub(crate) fn settle(&mut self) {
        self.runs.pop_front();
    }
}

impl Drop for StaleRuns<'_> {
    fn drop(&mut self) {
        for run in self.runs.drain(..) {
            self.connection.run_is_stale(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_were_not_seen_to_stay_stale() {
        let meta = ConnectionMeta {
            id: ConnectionId::new(),
            principal: UserId::new().into(),
            session: AuthSessionId::new(),
        };
        let behind = IntGauge::new("behind", "Connections that are behind").unwrap();
        let connection = Connection::new(meta, Hold::Nothing, Limits { frames: 4, bytes: 1000 }, behind);
        let runs = [RunId::new(), RunId::new()];
        for run in runs {
            connection.run_is_stale(run);
        }
        let mut stale = connection.take_stale_runs();
        assert_eq!(stale.first(), Some(runs[0]));
        stale.settle();
        // The log can't be read, or the writer is gone.
        drop(stale);
        let mut stale = connection.take_stale_runs();
        assert_eq!(stale.first(), Some(runs[1]));
        stale.settle();
        drop(stale);
        assert_eq!(connection.take_stale_runs().first(), None);
    }
}
