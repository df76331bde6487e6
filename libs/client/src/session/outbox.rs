//! The way of updates to the user.

use std::collections::VecDeque;

use tokio::sync::mpsc;

use super::Update;

/// Updates that found the user's queue full. While there are any the socket is read only for what somebody waits for, such as the
/// answer to a send. What comes before that answer waits here as long as there is room; then everything but states is left
/// out until the connection is resumed from where the user stands.
#[derive(Debug)]
pub(super) struct Outbox {
    updates: mpsc::Sender<Update>,
    waiting: VecDeque<Update>,
    /// How many may wait.
    limit: usize,
    left_out: bool,
}

impl Outbox {
    /// `limit`: how many updates may wait beside those in the queue; at least two.
    pub(super) fn new(updates: mpsc::Sender<Update>, limit: usize) -> Self {
        Self { updates, waiting: VecDeque::new(), limit: limit.max(2), left_out: false }
    }

    /// Whether so many updates, at most two, can be pushed without one being left out.
    pub(super) fn has_room_for(&self, count: usize) -> bool {
        !self.left_out && self.waiting.len() + count <= self.limit
    }

    /// Something is not pushed because there is no room: nor is what comes after it, or there would be a hole.
    pub(super) fn leave_out(&mut self) {
        self.left_out = true;
    }

    pub(super) fn push(&mut self, update: Update) {
        if self.waiting.is_empty() && !self.left_out {
            match self.updates.try_send(update) {
                Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => {}
                Err(mpsc::error::TrySendError::Full(update)) => self.waiting.push_back(update),
            }
            return;
        }
        // Reconnects go on while the user sleeps; of the states in a row only the last is of interest.
        if let (Some(Update::State(last)), Update::State(state)) = (self.waiting.back_mut(), &update) {
            last.clone_from(state);
        } else if matches!(update, Update::State(_)) || self.has_room_for(1) {
            self.waiting.push_back(update);
        } else {
            self.leave_out();
        }
    }

    /// A connection begins where the user stands: it brings again what was left out.
    pub(super) fn begin_again(&mut self) {
        self.left_out = false;
    }

    /// Whether the user has everything but what was left out.
    pub(super) fn wants_what_was_left_out(&self) -> bool {
        self.left_out && !self.is_waiting()
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

#[cfg(test)]
mod tests {
    use protocol::frame::Sent;
    use uuid::Uuid;

    use super::*;
    use crate::session::State;

    fn sent(seq: u64) -> Update {
        Update::Sent(Sent { nonce: String::new(), seq, id: Uuid::nil() })
    }

    fn state(url: &str) -> Update {
        Update::State(State::Connecting { url: url.to_owned() })
    }

    #[tokio::test]
    async fn what_has_no_room_is_left_out_but_the_last_state() {
        let (updates, mut received) = mpsc::channel(1);
        let mut outbox = Outbox::new(updates, 2);
        (1..=4).for_each(|seq| outbox.push(sent(seq)));
        for url in ["first", "last"] {
            outbox.push(state(url));
        }
        outbox.push(sent(5));
        assert_eq!(outbox.waiting.len(), 3);
        assert!(!outbox.wants_what_was_left_out(), "it is not yet caught up");
        for expected in [sent(1), sent(2), sent(3), state("last")] {
            assert_eq!(received.recv().await, Some(expected));
            if outbox.is_waiting() {
                outbox.hand_over().await;
            }
        }
        assert!(outbox.wants_what_was_left_out());
        outbox.push(sent(6));
        assert!(received.try_recv().is_err(), "after a hole there is nothing");
        outbox.begin_again();
        outbox.push(sent(4));
        assert_eq!(received.recv().await, Some(sent(4)));
    }

    #[tokio::test]
    async fn nothing_waits_for_a_user_who_is_gone() {
        let (updates, received) = mpsc::channel(1);
        let mut outbox = Outbox::new(updates, 2);
        (1..=2).for_each(|seq| outbox.push(sent(seq)));
        drop(received);
        outbox.hand_over().await;
        (3..=9).for_each(|seq| outbox.push(sent(seq)));
        assert!(!outbox.is_waiting() && outbox.has_room_for(2));
    }
}
