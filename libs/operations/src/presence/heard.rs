//! People who are said to be seen differently, for a loop of this node that cares.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use domain::UserId;
use parking_lot::Mutex;
use tokio::sync::Notify;

/// Most people who are kept.
const MOST: usize = 100_000;

/// Who was heard of and not yet taken.
#[derive(Debug, Default)]
pub(crate) struct PeopleHeard {
    people: Mutex<HashSet<UserId>>,
    wake: Arc<Notify>,
    /// Whether anybody will ever take them.
    listening: AtomicBool,
}

impl PeopleHeard {
    pub(crate) fn listen(&self) -> Arc<Notify> {
        self.listening.store(true, Ordering::Relaxed);
        Arc::clone(&self.wake)
    }

    /// Somebody is said to be seen differently.
    pub(crate) fn hear(&self, user: UserId) {
        if !self.listening.load(Ordering::Relaxed) {
            return;
        }
        let mut people = self.people.lock();
        if people.len() < MOST {
            people.insert(user);
        }
        drop(people);
        self.wake.notify_one();
    }

    /// Something may have been missed.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    pub(crate) fn take(&self) -> Vec<UserId> {
        std::mem::take(&mut *self.people.lock()).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn people_are_kept_once_somebody_cares() {
        let (heard, [alex, sam]) = (PeopleHeard::default(), [UserId::new(), UserId::new()]);
        heard.hear(alex);
        let wake = heard.listen();
        assert!(wake.notified().now_or_never().is_none());
        assert_eq!(heard.take(), []);
        heard.hear(sam);
        heard.hear(sam);
        assert!(wake.notified().now_or_never().is_some(), "the wake was kept");
        assert_eq!(heard.take(), [sam]);
        assert_eq!(heard.take(), []);
    }
}
