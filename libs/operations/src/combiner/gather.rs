//! How long a busy combiner waits for more sends before it commits those it has.
//!
//! Who sends one message after the other, each when the last was acknowledged, comes back a moment after a commit. A commit that
//! begins with whoever is there first takes one of them, and the others wait for the next: everybody waits for half of a commit
//! that is not theirs. So a combiner waits for as many as came together lately, as long as they keep coming; as Nagle's algorithm (RFC 896)
//! does for small segments, but a lone sender never waits.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// Commits whose sizes tell how many come together. More keep the last crowd in mind for longer than it stays.
const REMEMBERED: usize = 4;

/// Who came together with others comes within this part of the longest wait after the one before.
const QUIET_PART: u32 = 5;

/// For more than these no commit waits: what a commit costs by itself is little beside what so many cost, and while all who send wait for each other
/// nobody works.
const ENOUGH: usize = 32;

/// What is known of the last commits.
pub(super) struct Gathering {
    sizes: [usize; REMEMBERED],
    /// Of the sizes, the one that is forgotten next.
    oldest: usize,
    /// When the last commit began.
    began: Instant,
    max_wait: Duration,
}

impl Gathering {
    /// Nothing is known yet. `max_wait`: how long after the last commit began the next one begins at the latest; zero: at once.
    pub(super) fn new(max_wait: Duration) -> Self {
        Self { sizes: [0; REMEMBERED], oldest: 0, began: Instant::now(), max_wait }
    }

    /// Adds to a batch what comes soon, until it has `limit`.
    pub(super) async fn fill<T>(&self, batch: &mut Vec<T>, queue: &mut mpsc::Receiver<T>, limit: usize) {
        let expected = self.sizes.iter().copied().max().unwrap_or_default().min(limit).min(ENOUGH);
        let end = self.began + self.max_wait;
        while batch.len() < expected {
            let now = Instant::now();
            let until = end.min(now + self.max_wait / QUIET_PART);
            if until <= now {
                return;
            }
            match timeout_at(until, queue.recv_many(batch, limit - batch.len())).await {
                // Quiet, or over.
                Err(_) | Ok(0) => return,
                Ok(_) => {}
            }
        }
    }

    /// Notes that a commit of so many begins.
    pub(super) fn begun(&mut self, size: usize) {
        self.sizes[self.oldest] = size;
        self.oldest = (self.oldest + 1) % REMEMBERED;
        self.began = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, sleep};

    use super::*;

    /// A hundred times what is usual: the clock of a test has whole milliseconds.
    const MAX_WAIT: Duration = Duration::from_millis(500);

    /// Sends that come at these times, in milliseconds from now; and what is filled into a batch that has one.
    async fn filled(gathering: &Gathering, times: &[u64], limit: usize) -> (usize, Duration) {
        let (sender, mut queue) = mpsc::channel(64);
        let begin = Instant::now();
        let times = times.to_vec();
        let sending = tokio::spawn(async move {
            for time in times {
                tokio::time::sleep_until(begin + Duration::from_millis(time)).await;
                sender.send(()).await.expect("somebody takes them");
            }
            // Open, as it is while a node runs.
            sleep(MAX_WAIT * 100).await;
        });
        let mut batch = vec![()];
        gathering.fill(&mut batch, &mut queue, limit).await;
        let took = begin.elapsed();
        sending.abort();
        (batch.len(), took)
    }

    fn after(sizes: &[usize]) -> Gathering {
        let mut gathering = Gathering::new(MAX_WAIT);
        for size in sizes {
            gathering.begun(*size);
        }
        gathering
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_alone_never_waits() {
        assert_eq!(filled(&after(&[]), &[0, 50], 256).await, (1, Duration::ZERO));
        assert_eq!(filled(&after(&[1, 1, 1, 1]), &[0, 50], 256).await, (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn those_who_came_together_are_waited_for_and_nobody_else() {
        let (size, took) = filled(&after(&[1, 4, 2]), &[50, 90, 160, 190], 256).await;
        assert_eq!(size, 4);
        assert!(took < Duration::from_millis(161), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_crowd_that_is_gone_is_forgotten() {
        assert_eq!(filled(&after(&[9, 1, 1, 1]), &[390], 256).await.0, 1);
        assert_eq!(filled(&after(&[9, 1, 1, 1, 1]), &[0], 256).await, (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_between_them_ends_the_wait() {
        let (size, took) = filled(&after(&[8]), &[50, 400], 256).await;
        assert_eq!(size, 2);
        assert!(took < Duration::from_millis(160), "{took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn however_they_come_the_wait_is_over_in_time() {
        let times: Vec<u64> = (1..60).map(|n| n * 50).collect();
        let (size, took) = filled(&after(&[200]), &times, 256).await;
        assert!(size < 12, "{size}");
        assert!(took <= MAX_WAIT, "{took:?}");
        let times: Vec<u64> = (1..60).map(|n| n * 5).collect();
        assert_eq!(filled(&after(&[200]), &times, 256).await.0, ENOUGH);
        // A commit that took longer than that has gathered enough.
        let gathering = after(&[200]);
        advance(MAX_WAIT).await;
        assert_eq!(filled(&gathering, &times, 256).await, (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_batch_goes_at_once_and_zero_is_no_wait() {
        assert_eq!(filled(&after(&[9]), &[10, 20, 30, 40], 3).await.0, 3);
        let mut gathering = Gathering::new(Duration::ZERO);
        gathering.begun(9);
        assert_eq!(filled(&gathering, &[0], 256).await, (1, Duration::ZERO));
    }
}
