//! Tasks: what is done again and again.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::Operations;

impl Operations {
    /// What this node's scheduler waits on: woken when a task may be due, by this node or another, and when notifications may have been
    /// missed. For one who waits: a wake that comes while it looks at the store ends its next wait at once.
    #[must_use]
    pub fn task_wake(&self) -> Arc<Notify> {
        Arc::clone(self.announcer.task_wake())
    }
}
