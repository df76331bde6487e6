//! Pauses between attempts.

use std::time::Duration;

use rand::Rng;

const FIRST: Duration = Duration::from_millis(100);

/// Pauses that double up to a limit, each shortened at random by up to a half: after a restart of the database
/// the nodes shall not all come at the same moment.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    max: Duration,
}

impl Backoff {
    pub(crate) fn new(max: Duration) -> Self {
        Self { next: FIRST.min(max), max }
    }

    pub(crate) fn reset(&mut self) {
        self.next = FIRST.min(self.max);
    }

    pub(crate) fn pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.max);
        pause.mul_f64(rand::rng().random_range(0.5..=1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_limit_and_begin_anew() {
        let mut backoff = Backoff::new(Duration::from_secs(1));
        let within = |pause: Duration, of: u64| {
            let of = Duration::from_millis(of);
            assert!((of / 2..=of).contains(&pause), "{pause:?} of {of:?}");
        };
        for of in [100, 200, 400, 800, 1000, 1000] {
            within(backoff.pause(), of);
        }
        backoff.reset();
        within(backoff.pause(), 100);
    }
}
