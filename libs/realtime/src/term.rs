//! How long a connection may live by what its client showed to be let in.
//!
//! ```text
//!   good --token ends--> asked (`refresh` is sent) --grace is over--> over (closed with 4014)
//!     ^                    |
//!     '---- a newer token -'
//! ```
//!
//! A token that was renewed in time causes nothing. Agents' tokens have no end, and their connections none by this.

use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

/// The term of one connection.
#[derive(Debug, Clone)]
pub struct Term {
    grace: Duration,
    phase: Phase,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    Unlimited,
    Good(Instant),
    Asked(Instant),
}

/// What is to be done when a term [has come](Term::come).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Ask for a newer token: so long there is.
    Ask(Duration),
    /// End the connection.
    End,
}

impl Term {
    /// Of a token that ends then, or never. `grace`: how long the client has afterwards.
    #[must_use]
    pub fn new(expires_at: Option<Timestamp>, grace: Duration) -> Self {
        let mut term = Self { grace, phase: Phase::Unlimited };
        if let Some(expires_at) = expires_at {
            term.renew(expires_at);
        }
        term
    }

    /// A newer token was shown, which ends then: so long it is good.
    pub fn renew(&mut self, expires_at: Timestamp) -> Duration {
        let left = expires_at.duration_since(Timestamp::now()).try_into().unwrap_or(Duration::ZERO);
        self.phase = Phase::Good(Instant::now() + left);
        left
    }

    /// Waits until there is something to be done. Dropped and called again it goes on waiting.
    pub async fn come(&mut self) -> Turn {
        match self.phase {
            Phase::Unlimited => std::future::pending().await,
            Phase::Good(until) => {
                tokio::time::sleep_until(until).await;
                self.phase = Phase::Asked(until + self.grace);
                Turn::Ask((until + self.grace).saturating_duration_since(Instant::now()))
            }
            Phase::Asked(until) => {
                tokio::time::sleep_until(until).await;
                Turn::End
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_client_is_asked_once_and_has_the_grace() {
        let began = Instant::now();
        let mut term = Term::new(Some(Timestamp::now() + Duration::from_secs(60)), GRACE);
        assert!(matches!(term.come().await, Turn::Ask(within) if within.as_secs_f64() > 29.9));
        assert!((59..=60).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
        // Waiting in vain changes nothing.
        assert!(tokio::time::timeout(Duration::from_secs(29), term.come()).await.is_err());
        assert_eq!(term.come().await, Turn::End);
        assert!((89..=90).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_newer_token_begins_anew_before_and_after_the_question() {
        let minute = Duration::from_secs(60);
        let mut term = Term::new(Some(Timestamp::now() + minute), GRACE);
        term.renew(Timestamp::now() + 2 * minute);
        let began = Instant::now();
        assert!(matches!(term.come().await, Turn::Ask(_)));
        assert!(began.elapsed() > minute);
        assert!(term.renew(Timestamp::now() + minute) > GRACE);
        assert!(matches!(term.come().await, Turn::Ask(_)));
        assert!(term.renew(Timestamp::UNIX_EPOCH).is_zero(), "one that has ended helps nobody");
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_end_nothing_comes() {
        let mut term = Term::new(None, GRACE);
        assert!(tokio::time::timeout(Duration::from_secs(1_000_000), term.come()).await.is_err());
    }
}
