//! How long a connection may live by what its client showed to be let in.
//!
//! ```text
//!   good --token ends--> asked (`refresh` is sent) --grace is over--> over (closed with 4014)
//!     ^                    |  ^
//!     '---- a newer token -'  '-- again, while none can be had
//! ```
//!
//! A token that was renewed in time causes nothing. While the database is away nobody gets a newer token, so nobody is ended for want of one:
//! whoever was asked then is asked again. Agents' tokens have no end, and their connections none by this.

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
    Asked { until: Instant, tokens: Tokens },
}

/// Whether clients can get newer tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tokens {
    /// They can.
    ToBeHad,
    /// Not now, whatever they do.
    NotToBeHad,
}

/// What is to be done about a term.
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

    /// A token was shown, which ends then; of two the one that ends later counts. Gives how long that is from now.
    pub fn renew(&mut self, expires_at: Timestamp) -> Duration {
        let now = Instant::now();
        let left = expires_at.duration_since(Timestamp::now()).try_into().unwrap_or(Duration::ZERO);
        let until = match self.phase {
            Phase::Good(until) => until.max(now + left),
            Phase::Unlimited | Phase::Asked { .. } => now + left,
        };
        self.phase = Phase::Good(until);
        until.saturating_duration_since(now)
    }

    /// Waits until there is something to be done.
    pub async fn due(&self) {
        match self.phase {
            Phase::Unlimited => std::future::pending().await,
            Phase::Good(until) | Phase::Asked { until, .. } => tokio::time::sleep_until(until).await,
        }
    }

    /// What is to be done now that the term is [due](Self::due); none: to wait again.
    pub fn turn(&mut self, now: Tokens) -> Option<Turn> {
        match self.phase {
            Phase::Unlimited => None,
            Phase::Good(until) => {
                let until = until + self.grace;
                self.phase = Phase::Asked { until, tokens: now };
                Some(Turn::Ask(until.saturating_duration_since(Instant::now())))
            }
            Phase::Asked { tokens: Tokens::ToBeHad, .. } if now == Tokens::ToBeHad => Some(Turn::End),
            Phase::Asked { .. } => {
                self.phase = Phase::Good(Instant::now());
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(30);

    async fn come(term: &mut Term) -> Turn {
        term.due().await;
        term.turn(Tokens::ToBeHad).expect("something to be done")
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_asked_once_and_has_the_grace() {
        let began = Instant::now();
        let mut term = Term::new(Some(Timestamp::now() + Duration::from_secs(60)), GRACE);
        assert!(matches!(come(&mut term).await, Turn::Ask(within) if within.as_secs_f64() > 29.9));
        assert!((59..=60).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
        // Waiting in vain changes nothing.
        assert!(tokio::time::timeout(Duration::from_secs(29), term.due()).await.is_err());
        assert_eq!(come(&mut term).await, Turn::End);
        assert!((89..=90).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn a_newer_token_begins_anew_before_and_after_the_question() {
        let minute = Duration::from_secs(60);
        let mut term = Term::new(Some(Timestamp::now() + minute), GRACE);
        term.renew(Timestamp::now() + 2 * minute);
        let began = Instant::now();
        assert!(matches!(come(&mut term).await, Turn::Ask(_)));
        assert!(began.elapsed() > minute);
        assert!(term.renew(Timestamp::now() + minute) > GRACE);
        assert!(matches!(come(&mut term).await, Turn::Ask(_)));
        assert!(term.renew(Timestamp::UNIX_EPOCH).is_zero(), "one that has ended helps nobody");
    }

    #[tokio::test(start_paused = true)]
    async fn an_older_token_shortens_nothing() {
        let minute = Duration::from_secs(60);
        let mut term = Term::new(Some(Timestamp::now() + 2 * minute), GRACE);
        assert!(term.renew(Timestamp::now() + minute) > minute);
        assert!(tokio::time::timeout(minute + GRACE, term.due()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_is_ended_for_want_of_a_token_that_was_not_to_be_had() {
        let mut term = Term::new(Some(Timestamp::now()), GRACE);
        for (asked, over) in [
            (Tokens::NotToBeHad, Tokens::NotToBeHad),
            (Tokens::NotToBeHad, Tokens::ToBeHad),
            (Tokens::ToBeHad, Tokens::NotToBeHad),
        ] {
            term.due().await;
            assert!(matches!(term.turn(asked), Some(Turn::Ask(_))), "{asked:?}");
            term.due().await;
            assert_eq!(term.turn(over), None, "{asked:?} {over:?}");
        }
        assert!(matches!(come(&mut term).await, Turn::Ask(within) if within.as_secs_f64() > 29.9));
        assert_eq!(come(&mut term).await, Turn::End);
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_end_nothing_comes() {
        let term = Term::new(None, GRACE);
        assert!(tokio::time::timeout(Duration::from_secs(1_000_000), term.due()).await.is_err());
    }
}
