//! How often a person's typing is passed on.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use domain::{RoomId, UserId};
use parking_lot::Mutex;

/// Entries after which those that have run out are removed.
const SWEEP_AT: usize = 10_000;

/// Remembers when a person's typing in a room was passed on last.
pub(crate) struct TypingLimit {
    min_interval: Duration,
    last: Mutex<HashMap<(UserId, RoomId), Instant>>,
}

impl TypingLimit {
    pub(crate) fn new(min_interval: Duration) -> Self {
        Self { min_interval, last: Mutex::default() }
    }

    /// True when it may be passed on now, which is noted.
    pub(crate) fn allows(&self, user: UserId, room: RoomId) -> bool {
        self.allows_at(user, room, Instant::now())
    }

    fn allows_at(&self, user: UserId, room: RoomId, now: Instant) -> bool {
        let mut last = self.last.lock();
        if last.get(&(user, room)).is_some_and(|at| now.duration_since(*at) < self.min_interval) {
            return false;
        }
        if last.len() >= SWEEP_AT {
            last.retain(|_, at| now.duration_since(*at) < self.min_interval);
            // Still that many within one interval: more typing than anyone needs to hear of.
            if last.len() >= SWEEP_AT {
                return false;
            }
        }
        last.insert((user, room), now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_for_each_room_and_interval() {
        let limit = TypingLimit::new(Duration::from_secs(3));
        let (alex, sam, room, other) = (UserId::new(), UserId::new(), RoomId::new(), RoomId::new());
        let now = Instant::now();
        assert!(limit.allows_at(alex, room, now));
        assert!(!limit.allows_at(alex, room, now + Duration::from_secs(2)));
        assert!(limit.allows_at(alex, other, now) && limit.allows_at(sam, room, now));
        assert!(limit.allows_at(alex, room, now + Duration::from_secs(3)));
    }

    #[test]
    fn memory_is_bounded() {
        let limit = TypingLimit::new(Duration::from_secs(3));
        let now = Instant::now();
        for _ in 0..SWEEP_AT * 2 {
            limit.allows_at(UserId::new(), RoomId::new(), now);
        }
        assert_eq!(limit.last.lock().len(), SWEEP_AT);
        assert!(limit.allows_at(UserId::new(), RoomId::new(), now + Duration::from_secs(3)));
        assert_eq!(limit.last.lock().len(), 1);
    }
}
