//! Which rooms are dms, and of whom. That never changes, so a node asks the store once a room.

use std::collections::HashMap;

use domain::{RoomId, UserId};
use parking_lot::Mutex;

/// Rooms that are remembered; with more all are forgotten and asked for again.
const MOST: usize = 100_000;

/// The two people of a dm; none for a group.
pub(crate) type Pair = Option<[UserId; 2]>;

/// Rooms that this node knows of.
#[derive(Default)]
pub(crate) struct Pairs(Mutex<HashMap<RoomId, Pair>>);

impl Pairs {
    /// The pair of a room, if it is known.
    pub(crate) fn get(&self, room: RoomId) -> Option<Pair> {
        self.0.lock().get(&room).copied()
    }

    /// Remembers the pair of a room.
    pub(crate) fn insert(&self, room: RoomId, pair: Pair) {
        let mut known = self.0.lock();
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(room, pair);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded() {
        let pairs = Pairs::default();
        let (room, pair) = (RoomId::new(), Some([UserId::new(), UserId::new()]));
        assert_eq!(pairs.get(room), None);
        pairs.insert(room, pair);
        assert_eq!(pairs.get(room), Some(pair));
        for _ in 0..MOST {
            pairs.insert(RoomId::new(), None);
        }
        assert!(pairs.0.lock().len() <= MOST);
    }
}
