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
pub mod commands;
pub mod consumers;
pub mod error;
pub mod fenced;
pub mod messages;
pub mod metrics;
pub mod notifications;
mod pairs;
pub mod people;
pub mod presence;
pub mod rooms;
pub mod runs;
pub mod settings;
pub mod tasks;
pub mod tools;
pub mod typing;
mod waiters;

use std::sync::Arc;
use std::time::Duration;

use outbound::OutboundSettings;
use store::Store;

pub use agents::CreateAgent;
pub use announcer::Announcer;
pub use combiner::Combiner;
pub use error::Error;
pub use fenced::{TaskMessage, TaskRequest};
pub use messages::SendMessage;
pub use metrics::OperationsMetrics;
pub use presence::{PresenceMetrics, PresenceNotes, PresenceRules, PresenceWriter};
pub use runs::{BuiltRun, EndRun, FlushTask, RequestRun};
pub use settings::{
    AgentsSettings, AppendSettings, CommandSettings, MessageSettings, RunSettings, TasksSettings,
    ToolSettings,
};
pub use tasks::{CreateTask, EditTask, EditedTask, MadeTask, NewHook};
pub use tools::{CallTool, ToolCalled};

use crate::commands::Asked;
use crate::pairs::Pairs;
use crate::runs::live::LiveRuns;
use crate::typing::TypingLimit;
use crate::waiters::Waiters;

/// The operations of one node.
#[derive(Clone)]
pub struct Operations {
    store: Arc<dyn Store>,
    announcer: Announcer,
    combiner: Combiner,
    typing: Arc<TypingLimit>,
    live: Arc<LiveRuns>,
    waiters: Arc<Waiters>,
    pairs: Arc<Pairs>,
    asked: Arc<Asked>,
    messages: MessageSettings,
    agents: AgentsSettings,
    runs: RunSettings,
    tools: ToolSettings,
    commands: CommandSettings,
    tasks: TasksSettings,
    outbound: OutboundSettings,
    presence: PresenceRules,
}

/// The settings of all operations.
#[derive(Debug, Clone)]
pub struct OperationsSettings {
    /// Messages.
    pub messages: MessageSettings,
    /// How often one person is said to type in one room.
    pub typing_min_interval: Duration,
    /// Agents.
    pub agents: AgentsSettings,
    /// Runs of agents.
    pub runs: RunSettings,
    /// Tools in browsers.
    pub tools: ToolSettings,
    /// Commands.
    pub commands: CommandSettings,
    /// Tasks.
    pub tasks: TasksSettings,
    /// Where webhooks of tasks may lead.
    pub outbound: OutboundSettings,
    /// Presence.
    pub presence: PresenceRules,
}

impl Operations {
    /// Operations over a store; `combiner` is the sending side of [`combiner::new`].
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        announcer: Announcer,
        combiner: Combiner,
        settings: OperationsSettings,
    ) -> Self {
        Self {
            store,
            announcer,
            combiner,
            typing: Arc::new(TypingLimit::new(settings.typing_min_interval)),
            live: Arc::default(),
            waiters: Arc::default(),
            pairs: Arc::default(),
            asked: Arc::default(),
            messages: settings.messages,
            agents: settings.agents,
            runs: settings.runs,
            tools: settings.tools,
            commands: settings.commands,
            tasks: settings.tasks,
            outbound: settings.outbound,
            presence: settings.presence,
        }
    }

    /// The task that flushes runs of this node's consumers.
    #[must_use]
    pub fn flushing(&self) -> FlushTask {
        FlushTask {
            store: Arc::clone(&self.store),
            announcer: self.announcer.clone(),
            live: Arc::clone(&self.live),
            settings: self.runs.clone(),
        }
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
