//! The ephemeral channel: how nodes wake each other, through PostgreSQL's LISTEN and NOTIFY.
//!
//! Terms. An *entry* says that a thing has a new version, never what it is (`protocol::notify`). The
//! [`Notifier`] sends entries, one per process, on a connection of its own and outside of every transaction
//! that writes. The [`Listener`] hears those of other nodes, on another connection of its own, and hands them
//! to a [`Receiver`].
//!
//! An entry is a hint: it may be lost, repeated or overtaken by another. Whoever receives one compares versions
//! and reads the table; whoever was away catches up when [`Receiver::connected`] is called; and a sweep at an
//! interval finds what no hint told. So nothing here retries for the sake of correctness, only of latency.
//!
//! | failure | then |
//! |---|---|
//! | node dies between commit and NOTIFY | the sweep of the other nodes finds the new head |
//! | notifier's connection lost, lock not granted | entries go back, coalesce, and are sent again; repeats do no harm |
//! | more entries waiting than `notifier.max_pending` | new ones are dropped and counted; the sweep finds them |
//! | listener's connection lost or silently dead | noticed by the round trip, reconnect, then catch up |
//! | a pooler in transaction mode, a standby | the self-test after LISTEN fails and says so |
//!
//! What never lives here: content of any kind, pooled connections, transactions, other tables, and how to
//! connect (URL, TLS, keepalives): the caller gives a [`Connect`].

mod backoff;
mod connect;
mod error;
mod listener;
mod metrics;
mod notifier;
mod pending;
mod settings;

pub use connect::{Connect, ConnectError, Messages, Session};
pub use error::Error;
pub use listener::{Listener, ListenerState, Receiver};
pub use metrics::Metrics;
pub use notifier::{Notifier, NotifierTask};
pub use settings::{ListenerSettings, NotifierSettings};
