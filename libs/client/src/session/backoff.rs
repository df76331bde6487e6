//! How long to wait before the next attempt.

use std::time::Duration;

use super::Backoff;

/// Counts failures since the last live connection.
#[derive(Debug)]
pub(super) struct Waits {
    backoff: Backoff,
    failures: u32,
    /// What the last `hello` wants losses to be spread over.
    spread: Duration,
}

impl Waits {
    pub(super) const fn new(backoff: Backoff) -> Self {
        Self { backoff, failures: 0, spread: Duration::ZERO }
    }

    pub(super) fn hello(&mut self, spread: Duration) {
        self.spread = spread;
    }

    pub(super) fn live(&mut self) {
        self.failures = 0;
    }

    /// Counts a node that drains before the connection is live, as one meets in a rolling restart. Whether it is the
    /// first failure since the last live connection, so that its word on when to come back is enough.
    pub(super) fn drained_early(&mut self) -> bool {
        let is_first = self.failures == 0;
        self.failures = self.failures.max(1);
        is_first
    }

    /// The wait after a failure: anything up to the bound, so that clients that failed together come
    /// back apart.
    pub(super) fn failed(&mut self) -> Duration {
        let bound = self.bound();
        self.failures = self.failures.saturating_add(1);
        bound.mul_f64(rand::random::<f64>())
    }

    fn bound(&self) -> Duration {
        let doubled = self.backoff.first.saturating_mul(2_u32.saturating_pow(self.failures));
        doubled.min(self.backoff.most).max(self.spread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), most: Duration::from_secs(30) };

    #[test]
    fn the_bound_doubles_until_live() {
        let mut waits = Waits::new(BACKOFF);
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            assert_eq!(waits.bound(), Duration::from_secs(seconds));
            assert!(waits.failed() <= Duration::from_secs(seconds));
        }
        waits.failures = u32::MAX;
        assert_eq!(waits.bound(), Duration::from_secs(30));
        waits.live();
        assert_eq!(waits.bound(), Duration::from_secs(1));
    }

    #[test]
    fn one_early_drain_is_forgiven_until_live() {
        let mut waits = Waits::new(BACKOFF);
        assert!(waits.drained_early());
        assert!(!waits.drained_early());
        assert_eq!(waits.bound(), Duration::from_secs(2));
        waits.live();
        assert!(waits.drained_early());
    }

    #[test]
    fn losses_are_spread_as_the_server_wants() {
        let mut waits = Waits::new(BACKOFF);
        waits.hello(Duration::from_secs(5));
        assert_eq!(waits.bound(), Duration::from_secs(5));
        let drawn: Vec<_> = (0..50)
            .map(|_| {
                waits.live();
                waits.failed()
            })
            .collect();
        assert!(drawn.iter().any(|wait| *wait > Duration::from_secs(1)), "{drawn:?}");
        assert!(drawn.iter().any(|wait| *wait < Duration::from_secs(4)), "{drawn:?}");
    }
}
