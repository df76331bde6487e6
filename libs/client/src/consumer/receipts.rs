//! What was given to the application, and what it is done with.

use std::collections::BTreeSet;

use tokio::sync::mpsc;

/// Proves that an event was given to the application. Until [`ack`](Self::ack) is called the event may come again, on the next
/// connection or to the next process: *at least once*.
///
/// The server keeps one number, up to which all is done. So an event that is never acknowledged keeps those behind it
/// from being acknowledged, too.
#[derive(Debug)]
#[must_use = "what is never acknowledged comes again"]
pub struct Receipt(Option<(u64, mpsc::UnboundedSender<u64>)>);

impl Receipt {
    /// The event is dealt with and need not come again.
    pub fn ack(self) {
        if let Some((seq, done)) = self.0 {
            // After the end of the consumer nobody is told: it comes again.
            let _ = done.send(seq);
        }
    }

    /// Of something that is no event and does not come again.
    pub(super) const fn none() -> Self {
        Self(None)
    }
}

/// The receipts of one consumer.
#[derive(Debug)]
pub(super) struct Receipts {
    /// As many as events were given and not acknowledged: bounded by what the application lets lie.
    done: mpsc::UnboundedSender<u64>,
    open: BTreeSet<u64>,
    /// The newest event.
    newest: u64,
    /// Said to the server on this connection.
    said: u64,
    /// What the server answered.
    stands: u64,
}

impl Receipts {
    pub(super) fn new(done: mpsc::UnboundedSender<u64>) -> Self {
        Self { done, open: BTreeSet::new(), newest: 0, said: 0, stands: 0 }
    }

    /// An event that the application is given.
    pub(super) fn given(&mut self, seq: u64) -> Receipt {
        self.newest = self.newest.max(seq);
        self.open.insert(seq);
        Receipt(Some((seq, self.done.clone())))
    }

    /// An event that needs nothing of the application.
    pub(super) fn passed(&mut self, seq: u64) {
        self.newest = self.newest.max(seq);
    }

    /// An event that the application is done with.
    pub(super) fn done(&mut self, seq: u64) {
        self.open.remove(&seq);
    }

    /// What is to be said to the server; none if it knows.
    pub(super) fn say(&mut self) -> Option<u64> {
        let upto = self.open.first().map_or(self.newest, |first| first.saturating_sub(1));
        if upto <= self.said {
            return None;
        }
        self.said = upto;
        Some(upto)
    }

    /// A new connection: what was said on the one before may not have been heard.
    pub(super) fn connected(&mut self) {
        self.said = self.stands;
    }

    /// The server's answer.
    pub(super) fn acked(&mut self, seq: u64) {
        self.stands = self.stands.max(seq);
    }

    /// The stream goes on after this number, and what was before it does not come any more.
    pub(super) fn gap(&mut self, head: u64) {
        (self.newest, self.said, self.stands) = (head, head, head);
        self.open.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_has_nothing_open_before_it() {
        let (done, mut acknowledged) = mpsc::unbounded_channel();
        let mut receipts = Receipts::new(done);
        let mut given: Vec<_> = (5..8).map(|seq| Some(receipts.given(seq))).collect();
        receipts.passed(8);
        assert_eq!(receipts.say(), Some(4), "what came before is known to be done");
        for (index, said) in [(1, None), (0, Some(6)), (2, Some(8))] {
            given[index].take().expect("once").ack();
            receipts.done(acknowledged.try_recv().expect("told"));
            assert_eq!(receipts.say(), said, "{index}");
        }
        assert_eq!(receipts.say(), None);
    }

    #[test]
    fn what_was_not_answered_is_said_again() {
        let mut receipts = Receipts::new(mpsc::unbounded_channel().0);
        receipts.passed(3);
        assert_eq!(receipts.say(), Some(3));
        receipts.connected();
        assert_eq!(receipts.say(), Some(3));
        receipts.acked(3);
        receipts.connected();
        assert_eq!(receipts.say(), None);
    }

    #[test]
    fn a_receipt_that_is_dropped_acknowledges_nothing() {
        let (done, mut acknowledged) = mpsc::unbounded_channel();
        let mut receipts = Receipts::new(done);
        receipts.passed(1);
        assert_eq!(receipts.say(), Some(1));
        drop(receipts.given(2));
        assert!(acknowledged.try_recv().is_err());
        receipts.passed(3);
        assert_eq!(receipts.say(), None);
    }
}
