//! Messages on their way.

use std::collections::VecDeque;
use std::time::Duration;

use protocol::frame::{ErrorFrame, Send, Sent};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The server refuses it; again it would do so again.
    #[error("{code}: {detail}")]
    Refused {
        /// The stable name.
        code: String,
        /// For people.
        detail: String,
    },
    /// The session stopped before an answer came. The message may have been taken.
    #[error("the session stopped before an answer came")]
    Stopped,
}

/// Codes after which the same message may be taken later.
const LATER: [&str; 3] = ["rate_limited", "unavailable", "timeout"];

#[derive(Debug)]
struct Pending {
    send: Send,
    answer: oneshot::Sender<Result<Sent, SendError>>,
    /// When it is to be sent (again).
    due: Instant,
}

/// Messages that are not acknowledged, in the order in which they were given.
#[derive(Debug)]
pub(super) struct Sends {
    pending: VecDeque<Pending>,
    limit: usize,
    resend: Duration,
}

impl Sends {
    pub(super) fn new(limit: usize, resend: Duration) -> Self {
        Self { pending: VecDeque::new(), limit: limit.max(1), resend }
    }

    pub(super) fn has_room(&self) -> bool {
        self.pending.len() < self.limit
    }

    /// Whether somebody waits for an answer.
    pub(super) fn is_waited_for(&self) -> bool {
        self.pending.iter().any(|pending| !pending.answer.is_closed())
    }

    pub(super) fn add(&mut self, send: Send, answer: oneshot::Sender<Result<Sent, SendError>>) {
        self.pending.push_back(Pending { send, answer, due: Instant::now() });
    }

    /// A new connection: all of them are due.
    pub(super) fn connected(&mut self) {
        let now = Instant::now();
        self.pending.iter_mut().for_each(|pending| pending.due = now);
    }

    /// When the next one is due; none when all is acknowledged.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.pending.iter().map(|pending| pending.due).min()
    }

    /// The next message to be sent now. One whose sender no longer waits is forgotten.
    pub(super) fn take_due(&mut self) -> Option<Send> {
        let now = Instant::now();
        self.pending.retain(|pending| !pending.answer.is_closed());
        let pending = self.pending.iter_mut().find(|pending| pending.due <= now)?;
        pending.due = now + self.resend;
        Some(pending.send.clone())
    }

    pub(super) fn sent(&mut self, sent: &Sent) {
        if let Some(pending) = self.take(&sent.nonce) {
            // Nobody waits any more; it was sent all the same.
            let _ = pending.answer.send(Ok(sent.clone()));
        }
    }

    pub(super) fn refused(&mut self, error: &ErrorFrame) {
        let Some(nonce) = &error.nonce else { return };
        if LATER.contains(&error.code.as_str()) {
            let later = Instant::now() + Duration::from_secs(1).mul_f64(1.0 + rand::random::<f64>());
            let pending = self.pending.iter_mut().find(|pending| &pending.send.nonce == nonce);
            pending.into_iter().for_each(|pending| pending.due = later);
        } else if let Some(pending) = self.take(nonce) {
            let refused = SendError::Refused { code: error.code.clone(), detail: error.detail.clone() };
            let _ = pending.answer.send(Err(refused));
        }
    }

    /// Nothing will be sent any more: whoever waits is told so.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
    }

    fn take(&mut self, nonce: &str) -> Option<Pending> {
        let at = self.pending.iter().position(|pending| pending.send.nonce == nonce)?;
        self.pending.remove(at)
    }
}
