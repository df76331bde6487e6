//! The way of updates to the user.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::Update;

/// Updates that found the user's queue full. The socket is not read while there are any, so that there
/// are never more than what one frame gives and the states after it.
#[derive(Debug)]
pub(super) struct Outbox {
    updates: mpsc::Sender<Update>,
    waiting: VecDeque<Update>,
}

impl Outbox {
    pub(super) const fn new(updates: mpsc::Sender<Update>) -> Self {
        Self { updates, waiting: VecDeque::new() }
    }

    pub(super) fn push(&mut self, update: Update) {
        if self.waiting.is_empty() {
            match self.updates.try_send(update) {
                Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => {}
                Err(mpsc::error::TrySendError::Full(update)) => self.waiting.push_back(update),
            }
            return;
        }
        // Reconnects go on while the user sleeps; of the states in a row only the last is of interest.
        if let (Some(Update::State(last)), Update::State(state)) = (self.waiting.back_mut(), &update) {
            last.clone_from(state);
            return;
        }
        self.waiting.push_back(update);
    }

    pub(super) fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Waits for room and hands over one update. Safe to cancel.
    pub(super) async fn hand_over(&mut self) {
        match self.updates.reserve().await {
            Ok(permit) => {
                if let Some(update) = self.waiting.pop_front() {
                    permit.send(update);
                }
            }
            Err(_) => self.waiting.clear(),
        }
    }

    /// Hands over all that is left.
    pub(super) async fn finish(&mut self) {
        while self.is_waiting() {
            self.hand_over().await;
        }
    }
}
