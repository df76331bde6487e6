//! The store in PostgreSQL.
//!
//! `settings` and `connect` say where it is and open connections; `pool` lends them; `transaction` runs
//! statements, pipelined; `statement` lists the SQL files; `sqlstate` reads errors; `append` writes the log;
//! `schema` migrates; `import` fills; `roles` says which node may do what. Beside them one module a subject implements that subject's trait.
//!
//! Operations that lost against others (deadlock, serialization) are repeated here, whole, a few times; after that
//! they are `Unavailable`, and the caller may repeat them.

use std::sync::Arc;
use std::time::Duration;

use prometheus::Registry;
use tokio_postgres::Row;

use crate::error::StoreError;
use crate::log::Log;
use crate::number as interval;

mod accounts;
mod agents;
mod append;
mod commands;
mod connect;
mod consumers;
mod devices;
mod import;
mod inspect;
mod log;
mod messages;
mod metrics;
mod nodes;
mod notifications;
mod pool;
mod presence;
mod push;
mod queue;
mod rates;
mod reap;
mod retention;
mod roles;
mod rooms;
mod row;
mod runs;
mod schema;
mod sessions;
mod settings;
mod signing_keys;
mod sqlstate;
mod statement;
mod tasks;
mod tickets;
mod tls;
mod tools;
mod transaction;

pub use crate::migration::Migration;
pub use connect::{Connection, Connector, TlsStream, connect};
#[cfg(test)]
pub(crate) use import::load_in;
pub use import::{Loaded, finish as finish_import, load as load_export};
pub use inspect::{Facts, inspect};
pub use roles::{DatabaseRole, UserRights, create_roles, has_roles, user_rights};
pub use schema::{Applied, MIGRATIONS, SchemaVersion, is_importing, migrate, schema_digest, schema_version};
pub use settings::DatabaseSettings;

use metrics::Metrics;
use pool::{Lender, Session};
use sqlstate::Fault;
use statement::Statement;
use transaction::Params;

/// The store in PostgreSQL; cheap to clone, one pool behind all clones.
#[derive(Clone)]
pub struct Postgres {
    lender: Arc<Lender>,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").finish_non_exhaustive()
    }
}

impl Postgres {
    /// Opens the pool and makes sure that the database answers and is migrated. Metrics go to `registry`: one store a
    /// registry.
    ///
    /// # Errors
    ///
    /// `Settings`; `Unavailable` when no primary answers; `Schema` when the database lacks migrations.
    pub async fn connect(settings: &DatabaseSettings, registry: &Registry) -> Result<Self, StoreError> {
        let store = Self::look(settings, registry).await?;
        // Before anything is read: in a restored or copied database positions of the old epoch mean nothing.
        store.log_epoch().await?;
        Ok(store)
    }

    /// As [`connect`](Self::connect), for who only looks: a restored or copied database keeps the log epoch that it came with.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn look(settings: &DatabaseSettings, registry: &Registry) -> Result<Self, StoreError> {
        let connector = Connector::new(settings, "store")?;
        let lender = Lender::new(settings, &connector, Metrics::register(registry)?)?;
        let session = lender.session().await?;
        schema::check_version(&session).await?;
        drop(session);
        Ok(Self { lender: Arc::new(lender) })
    }

    /// A connection of the pool, for transactions.
    async fn session(&self) -> Result<Session, StoreError> {
        self.lender.session().await
    }

    /// Runs one statement that is a transaction by itself.
    async fn rows(&self, statement: &'static Statement, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        repeated!(async { self.session().await?.query(statement, params).await })
    }

    /// Like [`Self::rows`], for statements that give one row or none.
    async fn row(
        &self,
        statement: &'static Statement,
        params: Params<'_>,
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(statement, params).await?.into_iter().next())
    }
}

/// Runs a whole transaction (an expression that gives a future of `Result<_, Fault>`, evaluated anew each time)
/// until it no longer loses against others.
macro_rules! repeated {
    ($attempt:expr) => {{
        let mut repeats = $crate::postgres::Repeats::default();
        loop {
            match $attempt.await {
                Ok(done) => break Ok(done),
                Err(fault) => {
                    let fault: $crate::postgres::sqlstate::Fault = fault;
                    if let Err(error) = repeats.after(fault).await {
                        break Err(error);
                    }
                }
            }
        }
    }};
}
use repeated;

#[cfg(test)]
mod tests;

/// Counts the tries of a transaction.
#[derive(Default)]
struct Repeats(u32);

impl Repeats {
    const MOST: u32 = 12;

    /// Waits a short, random while when it is worth another try.
    async fn after(&mut self, fault: Fault) -> Result<(), StoreError> {
        match fault {
            Fault::Contended(text) if self.0 < Self::MOST => {
                self.0 += 1;
                tracing::debug!(text, attempt = self.0, "repeating a transaction");
                let most = 10_000 << self.0.min(3);
                tokio::time::sleep(Duration::from_micros(rand::random_range(1000..most))).await;
                Ok(())
            }
            fault => Err(fault.into()),
        }
    }
}
