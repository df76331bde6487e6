//! Where in line a claim begins to look.
//!
//! Rows that were claimed and are gone stay in the index until the database may remove them, which an old snapshot can hold up for hours; a claim
//! that begins in front steps over all of them, each time. What was claimed a while ago has nothing before it, but for what came late:
//! runs that were handed back, or whose place was taken while we looked. So most claims begin a little behind what was
//! claimed last, and now and then one looks at everything, the more seldom the longer that takes.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Runs that a claim looks behind what was claimed last.
const BEHIND: usize = 1000;
/// How often everything is looked at, unless that takes long.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Looking at everything takes no more than one part of so many.
const SHARE: u32 = 20;

/// What one worker knows of the line.
#[derive(Debug)]
pub(super) struct Floor {
    /// The last turn of each claim, and how many it got, the newest in front.
    claims: VecDeque<(i64, usize)>,
    /// How far the line had come when this began.
    start: i64,
    look: Instant,
    /// Whether the newest claim left out what is in front.
    left_out: bool,
}

impl Floor {
    pub(super) fn new(start: i64) -> Self {
        Self { claims: VecDeque::new(), start, look: Instant::now(), left_out: false }
    }

    /// When to look at everything although nothing calls for a claim: what came late would wait for the next call.
    pub(super) fn look_at(&self) -> Option<Instant> {
        self.left_out.then_some(self.look)
    }

    /// The turn from which the next claim looks; 0 for everything.
    pub(super) fn next(&self, now: Instant) -> i64 {
        if now >= self.look {
            return 0;
        }
        let mut seen = 0;
        for (turn, got) in &self.claims {
            if seen >= BEHIND {
                return *turn;
            }
            seen += got;
        }
        self.start
    }

    /// A claim from `floor` that began at `began` got `got` runs, the last at `turn`.
    pub(super) fn claimed(&mut self, floor: i64, began: Instant, got: usize, turn: Option<i64>) {
        self.left_out = floor > 0;
        if floor == 0 {
            let now = Instant::now();
            self.look = now + LOOK_EVERY.max(now.duration_since(began) * SHARE);
        }
        if let Some(turn) = turn {
            self.claims.push_front((turn, got));
            let (mut seen, mut needed) = (0, 0);
            for (_, got) in &self.claims {
                needed += 1;
                if seen >= BEHIND {
                    break;
                }
                seen += got;
            }
            self.claims.truncate(needed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_claim_looks_a_thousand_runs_behind_and_at_everything_once_a_second() {
        let mut floor = Floor::new(0);
        assert_eq!(floor.next(Instant::now()), 0);
        for turn in 1..=10 {
            let next = floor.next(Instant::now());
            floor.claimed(next, Instant::now(), 500, Some(turn * 500));
        }
        assert_eq!(floor.next(Instant::now()), 8 * 500, "a thousand were claimed after that");
        tokio::time::advance(LOOK_EVERY).await;
        assert_eq!(floor.next(Instant::now()), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_begins_looks_from_where_the_line_is() {
        let mut floor = Floor::new(700);
        assert_eq!(floor.next(Instant::now()), 0, "once at everything");
        floor.claimed(0, Instant::now(), 0, None);
        assert_eq!(floor.next(Instant::now()), 700);
        assert_eq!(floor.look_at(), None, "nothing was left out");
        floor.claimed(700, Instant::now(), 20, Some(720));
        assert_eq!(floor.next(Instant::now()), 700, "a thousand behind would be before it");
        let look = floor.look_at().expect("what is in front was left out");
        assert_eq!(look, Instant::now() + LOOK_EVERY);
        assert_eq!(floor.next(look), 0);
        floor.claimed(0, look, 0, None);
        assert_eq!(floor.look_at(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_at_everything_that_takes_long_is_seldom() {
        let mut floor = Floor::new(0);
        floor.claimed(0, Instant::now(), 2000, Some(7));
        floor.claimed(1, Instant::now(), 2000, Some(9));
        tokio::time::advance(LOOK_EVERY).await;
        let began = Instant::now();
        tokio::time::advance(Duration::from_secs(1)).await;
        floor.claimed(0, began, 0, None);
        tokio::time::advance(Duration::from_secs(19)).await;
        assert_ne!(floor.next(Instant::now()), 0);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(floor.next(Instant::now()), 0);
    }
}
