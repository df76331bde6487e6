//! The guard of a consumer's deliveries: nothing is given to a loser after the winner was given something.
//!
//! Terms. *Holder*: the session that the row of the consumer's place names. *Loser*: a connection whose session was the
//! holder. *Winner*: the one that took the place from it.
//!
//! A notification closes the loser, but notifications may be lost. So a consumer's writer asks the row before it
//! writes, and an answer is good for [`VALID_FOR`], counted from when it was *asked*. The winner gives nothing before the same time has
//! passed since its take was answered:
//!
//! ```text
//!   loser   asks --------- good until asked + V --|   (the row named it: so it asked before the take)
//!   winner       take committed .. answered ------- waits V --| delivers
//! ```
//!
//! Both measure lengths of time on their own; no clocks are compared. A write that the socket does not take at once goes on asking meanwhile, and is
//! torn off when the place is lost. This is the waiting rule of leases (Gray and Cheriton, 1989) with the reader's side as the lease.
//!
//! The writes of a consumer need none of this: each names its session, and the row decides.

use std::time::Duration;

use domain::SlotSessionId;
use store::{Store, StoreError};
use tokio::time::Instant;

/// How long an answer is good for.
pub const VALID_FOR: Duration = Duration::from_millis(200);

/// The guard of one consumer's connection.
#[derive(Debug)]
pub struct Guard {
    session: SlotSessionId,
    good_until: Option<Instant>,
}

impl Guard {
    /// A guard that has asked nothing yet.
    #[must_use]
    pub const fn new(session: SlotSessionId) -> Self {
        Self { session, good_until: None }
    }

    /// Whether something may be written now. False when the place is lost, for good.
    ///
    /// # Errors
    ///
    /// When the store does not answer: nothing may be written, ask again.
    pub async fn may_write(&mut self, store: &dyn Store) -> Result<bool, StoreError> {
        loop {
            let asked = Instant::now();
            if self.good_until.is_some_and(|until| asked < until) {
                return Ok(true);
            }
            if !store.holds_consumer(self.session).await? {
                return Ok(false);
            }
            // An answer that took as long as it is good for says nothing: ask again.
            self.good_until = Some(asked + VALID_FOR);
        }
    }
}
