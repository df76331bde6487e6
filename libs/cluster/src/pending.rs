//! What waits to be sent.

use std::collections::HashMap;
use std::collections::hash_map;

use domain::NodeId;
use parking_lot::Mutex;
use protocol::notify::{Entry, Id, Kind};
use tokio::sync::Notify;

#[derive(Debug, Default)]
struct Waiting {
    entries: HashMap<(Kind, Id), Option<u64>>,
    /// How often something was added.
    told: usize,
}

/// A bounded map of entries in which the highest version of a thing wins, with a bell for its one taker.
#[derive(Debug)]
pub(crate) struct Pending {
    waiting: Mutex<Waiting>,
    max: usize,
    bell: Notify,
}

impl Pending {
    pub(crate) fn new(max: usize) -> Self {
        Self { waiting: Mutex::default(), max, bell: Notify::new() }
    }

    /// Adds entries; says how many found no room.
    pub(crate) fn add(&self, entries: impl IntoIterator<Item = ((Kind, Id), Option<u64>)>) -> u64 {
        let mut refused = 0;
        let ring = {
            let mut waiting = self.waiting.lock();
            let Waiting { entries: map, told } = &mut *waiting;
            let was_empty = map.is_empty();
            let mut entries = entries.into_iter().peekable();
            *told += usize::from(entries.peek().is_some());
            for (thing, version) in entries {
                let full = map.len() >= self.max;
                match map.entry(thing) {
                    hash_map::Entry::Occupied(mut waiting) => {
                        let highest = version.max(*waiting.get());
                        waiting.insert(highest);
                    }
                    hash_map::Entry::Vacant(_) if full => refused += 1,
                    hash_map::Entry::Vacant(free) => {
                        free.insert(version);
                    }
                }
            }
            was_empty && !map.is_empty()
        };
        if ring {
            self.bell.notify_one();
        }
        refused
    }

    /// Takes everything at once, so that a thing that comes in again and again does not keep others waiting. Says too how often something was added
    /// since the last time.
    pub(crate) fn take(&self, node: NodeId) -> (Vec<Entry>, usize) {
        let Waiting { entries, told } = std::mem::take(&mut *self.waiting.lock());
        let entry = |((kind, id), version)| Entry { kind, id, version, node: node.uuid() };
        (entries.into_iter().map(entry).collect(), told)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.lock().entries.len()
    }

    /// Waits until there is something. For one taker: a second one might not be woken.
    pub(crate) async fn filled(&self) {
        while self.len() == 0 {
            self.bell.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn thing(n: u8) -> (Kind, Id) {
        let kind = if n.is_multiple_of(2) { Kind::Stream } else { Kind::RunUpdated };
        (kind, uuid::Uuid::from_u128(n.into()).into())
    }

    #[tokio::test]
    async fn a_bell_rung_before_the_wait_is_heard() {
        let pending = Pending::new(10);
        pending.add([(thing(1), Some(1))]);
        pending.filled().await;
        pending.take(NodeId::new());
        // The permit of the first ring may be left: the wait must look again.
        let wait = pending.filled();
        tokio::pin!(wait);
        assert!(futures_util::poll!(&mut wait).is_pending());
        pending.add([(thing(2), None)]);
        wait.await;
    }

    proptest! {
        #[test]
        fn the_highest_version_wins_within_the_bound(
            adds in prop::collection::vec((0_u8..20, any::<Option<u64>>()), 0..200), max in 1_usize..30,
        ) {
            let pending = Pending::new(max);
            let mut model: HashMap<(Kind, Id), Option<u64>> = HashMap::new();
            for (n, version) in adds {
                let refused = pending.add([(thing(n), version)]);
                let room = model.len() < max || model.contains_key(&thing(n));
                prop_assert_eq!(refused, u64::from(!room));
                if room {
                    let highest = model.entry(thing(n)).or_default();
                    *highest = version.max(*highest);
                }
            }
            prop_assert!(pending.len() <= max);
            let taken: HashMap<_, _> =
                pending.take(NodeId::new()).0.into_iter().map(|e| ((e.kind, e.id), e.version)).collect();
            prop_assert_eq!(taken, model);
            prop_assert_eq!(pending.len(), 0);
        }
    }
}
