//! What Switchboard keeps, as operations of the domain.
//!
//! Each operation is atomic: it checks, writes and numbers its events in one transaction, and its
//! guards stand in the write itself. The traits are grouped by subject; [`Store`] is all of them.
//! Databases implement them, and one suite of contract tests holds every database
//! to the same behaviour.
//!
//! Callers never see SQL, rows, transactions or a database's error. Nothing here announces or
//! caches: what was written is given back, and whoever asked announces it. Only a transaction that
//! lost against another (a deadlock) is repeated here.

pub mod accounts;
pub mod agents;
pub mod commands;
pub mod consumers;
pub mod devices;
pub mod error;
pub mod log;
pub mod messages;
mod migration;
pub mod nodes;
pub mod notifications;
mod number;
pub mod postgres;
pub mod presence;
pub mod push;
pub mod queue;
pub mod rates;
pub mod retention;
pub mod rooms;
pub mod runs;
pub mod sessions;
pub mod signing_keys;
pub mod sqlite;
mod statement;
pub mod tasks;
pub mod tickets;
pub mod tools;
pub mod transfer;

pub use accounts::Accounts;
pub use agents::Agents;
pub use commands::Commands;
pub use consumers::Consumers;
pub use devices::Devices;
pub use error::{Refusal, StoreError};
pub use log::Log;
pub use messages::Messages;
pub use nodes::Nodes;
pub use notifications::Notifications;
pub use presence::Presence;
pub use push::Push;
pub use queue::Queue;
pub use rates::Rates;
pub use retention::Retention;
pub use rooms::Rooms;
pub use runs::Runs;
pub use sessions::Sessions;
pub use signing_keys::SigningKeys;
pub use tasks::Tasks;
pub use tickets::Tickets;
pub use tools::Tools;

/// Everything that is kept: what a role holds as `Arc<dyn Store>`.
pub trait Store:
    Accounts
    + Agents
    + Commands
    + Consumers
    + Devices
    + Log
    + Messages
    + Nodes
    + Presence
    + Notifications
    + Push
    + Queue
    + Rates
    + Retention
    + Rooms
    + Runs
    + Sessions
    + SigningKeys
    + Tasks
    + Tickets
    + Tools
    + Send
    + Sync
    + 'static
{
}

impl<T> Store for T where
    T: Accounts
        + Agents
        + Commands
        + Consumers
        + Devices
        + Log
        + Messages
        + Nodes
        + Presence
        + Notifications
        + Push
        + Queue
        + Rates
        + Retention
        + Rooms
        + Runs
        + Sessions
        + SigningKeys
        + SigningKeys
        + Tasks
        + Tickets
        + Tools
        + Send
        + Sync
        + 'static
{
}
