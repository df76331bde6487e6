//! Waiting for a row that another node may write.
//!
//! Who waits registers first, then looks at the row, then waits: whatever order the answer and its notification come in, the
//! answer is seen. A notification that is lost is made up for by looking again from time to time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

/// How long nobody looks when no notification comes.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Those who wait on this node, by what they wait for.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    waiting: Mutex<HashMap<Uuid, (Arc<Notify>, usize)>>,
}

/// One who waits; dropped, nobody does.
#[derive(Debug)]
pub(crate) struct Waiter<'a> {
    waiters: &'a Waiters,
    id: Uuid,
    woken: Arc<Notify>,
}

impl Waiters {
    /// Registers for something. Look at it after that, not before.
    pub(crate) fn register(&self, id: Uuid) -> Waiter<'_> {
        let mut waiting = self.waiting.lock();
        let (woken, count) = waiting.entry(id).or_default();
        *count += 1;
        Waiter { waiters: self, id, woken: Arc::clone(woken) }
    }

    /// It was written.
    pub(crate) fn wake(&self, id: Uuid) {
        if let Some((woken, _)) = self.waiting.lock().get(&id) {
            woken.notify_waiters();
            // For one who is looking at the row just now.
            woken.notify_one();
        }
    }

    /// Anything may have been written: notifications were missed.
    pub(crate) fn wake_all(&self) {
        let all: Vec<Uuid> = self.waiting.lock().keys().copied().collect();
        for id in all {
            self.wake(id);
        }
    }
}

impl Waiter<'_> {
    /// Waits for a reason to look again. False when `deadline` is over.
    pub(crate) async fn look_again(&self, deadline: Instant) -> bool {
        let now = Instant::now();
        if now >= deadline {
            return false;
        }
        let until = deadline.min(now + LOOK_EVERY);
        drop(timeout_at(until, self.woken.notified()).await);
        true
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut waiting = self.waiters.waiting.lock();
        if let Some((_, count)) = waiting.get_mut(&self.id) {
            *count -= 1;
            if *count == 0 {
                waiting.remove(&self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_comes_between_looking_and_waiting_is_not_missed() {
        let waiters = Waiters::default();
        let id = Uuid::now_v7();
        let waiter = waiters.register(id);
        // The row was looked at here, and is written now.
        waiters.wake(id);
        let began = Instant::now();
        assert!(waiter.look_again(began + Duration::from_secs(60)).await);
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_lost_notification_costs_seconds_and_a_deadline_holds() {
        let waiters = Waiters::default();
        let waiter = waiters.register(Uuid::now_v7());
        let began = Instant::now();
        let mut looks = 0;
        while waiter.look_again(began + Duration::from_secs(5)).await {
            looks += 1;
        }
        assert_eq!((looks, began.elapsed()), (3, Duration::from_secs(5)));
        drop(waiter);
        assert!(waiters.waiting.lock().is_empty());
    }
}
