//! What the product does, once for every face.
//!
//! Each operation checks what it is given, writes through the store, and announces what was written:
//! to the hub of this node from memory, to other nodes by the notifier. HTTP and WebSocket call the
//! same functions and map the same errors.
//!
//! Sends go through the write combiner ([`combiner`]); everything else is one call of the store.
//!
//! What never lives here: HTTP, frames of clients, SQL, and rules that need no I/O (those are `domain`).

pub mod agents;
pub mod announcer;
pub mod combiner;
pub mod error;
pub mod messages;
pub mod metrics;
pub mod people;
pub mod rooms;
pub mod settings;
pub mod typing;

use std::sync::Arc;

use store::Store;

pub use agents::CreateAgent;
pub use announcer::Announcer;
pub use combiner::Combiner;
pub use error::Error;
pub use messages::SendMessage;
pub use metrics::OperationsMetrics;
pub use settings::{AgentsSettings, AppendSettings, MessageSettings};

use crate::typing::TypingLimit;

/// The operations of one node.
#[derive(Clone)]
pub struct Operations {
    store: Arc<dyn Store>,
    announcer: Announcer,
    combiner: Combiner,
    typing: Arc<TypingLimit>,
    messages: MessageSettings,
    agents: AgentsSettings,
}

impl Operations {
    /// Operations over a store; `combiner` is the sending side of [`combiner::new`].
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        announcer: Announcer,
        combiner: Combiner,
        messages: MessageSettings,
        agents: AgentsSettings,
        typing_min_interval: std::time::Duration,
    ) -> Self {
        let typing = Arc::new(TypingLimit::new(typing_min_interval));
        Self { store, announcer, combiner, typing, messages, agents }
    }

    /// The store, for reads.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// Tells this node and the others what was written.
    #[must_use]
    pub const fn announcer(&self) -> &Announcer {
        &self.announcer
    }
}
