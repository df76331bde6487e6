//! How fast frames are sent: a server closes who sends more than it takes (4008).

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Frames at once, before the rate holds; less than the server's `gateway.frame_burst` (400).
const BURST: f64 = 200.0;

/// A bucket of frames that may be sent.
#[derive(Debug)]
pub(super) struct Pace {
    per_second: f64,
    left: f64,
    at: Instant,
}

impl Pace {
    pub(super) fn new(per_second: u32) -> Self {
        Self { per_second: f64::from(per_second.max(1)), left: BURST, at: Instant::now() }
    }

    /// Waits until one more may be sent.
    pub(super) async fn turn(&mut self) {
        let now = Instant::now();
        self.left = (self.left + self.per_second * (now - self.at).as_secs_f64()).min(BURST) - 1.0;
        self.at = now;
        if self.left < 0.0 {
            sleep(Duration::from_secs_f64(-self.left / self.per_second)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn after_a_burst_the_rate_holds() {
        let mut pace = Pace::new(1000);
        let begun = Instant::now();
        for _ in 0..300 {
            pace.turn().await;
        }
        // 200 at once, and 100 more at a thousand a second.
        assert!(begun.elapsed() >= Duration::from_millis(95), "{:?}", begun.elapsed());
    }
}
