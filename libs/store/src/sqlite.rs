//! The store in SQLite: one file, one process.
//!
//! `workers` are the threads that own the connections; `transaction` is what a job on one of them works with; `statement` lists the SQL
//! files; `fault` reads errors; `value` and `row` are the types; `append` writes the log; `schema` migrates; `power` sees
//! to what a machine that went down may have taken. Beside them one module a
//! subject implements that subject's trait.
//!
//! There is one writer, and each of its jobs is a transaction: it sees a state that nobody else changes until it is over. So where another
//! database needs a lock, or one statement that does everything, a job is several small statements with decisions in between, and nothing
//! is ever repeated. Readers see the last commit before they began, each job one snapshot.

use std::path::Path;
use std::sync::Arc;

use prometheus::Registry;

use crate::error::StoreError;

mod accounts;
mod agents;
mod append;
mod backup;
mod commands;
mod consumers;
mod devices;
mod export;
mod fault;
mod inspect;
mod log;
mod messages;
mod metrics;
mod nodes;
mod notifications;
mod open;
mod power;
mod presence;
mod push;
mod queue;
mod rates;
mod reap;
mod retention;
mod rooms;
mod row;
mod runs;
mod schema;
mod sessions;
mod signing_keys;
mod statement;
mod tasks;
mod tickets;
mod tools;
mod transaction;
mod value;
mod workers;

pub use backup::backup;
pub use export::{Circumstances, export};
pub use inspect::{Facts, inspect};
pub use power::rest;
pub use schema::MIGRATIONS;

use fault::Fault;
use metrics::Metrics;
use transaction::Tx;
use workers::Workers;

/// The store in SQLite; cheap to clone, one writer behind all clones. The file is closed some time after the last of them is gone.
#[derive(Clone)]
pub struct Sqlite {
    workers: Arc<Workers>,
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").finish_non_exhaustive()
    }
}

impl Sqlite {
    /// Opens the database in this file, which is made when it is not there, and brings it up to this binary. Before an older one is
    /// changed, a copy is kept beside it: `<file>.before-NNNN`, by the number of the first migration that it lacked.
    ///
    /// No other process may have the file open: the caller sees to that. This reads and writes files, and may take a while.
    ///
    /// # Errors
    ///
    /// `Schema` when the database is newer than this binary, or was migrated by other files than ours; `Unavailable` when the file can't
    /// be opened or written; `Internal` when it is no database.
    pub fn open(path: &Path, registry: &Registry) -> Result<Self, StoreError> {
        Self::open_at(path, registry, MIGRATIONS)
    }

    /// Opens the database in this file beside the process that serves it, if one does. It is neither made nor migrated.
    ///
    /// # Errors
    ///
    /// `Schema` when it is not just as this binary would have it; `Unavailable` when it is not there or can't be opened.
    pub fn join(path: &Path, registry: &Registry) -> Result<Self, StoreError> {
        // Before anything makes the file.
        schema::check(&open::reader(path)?, MIGRATIONS)?;
        Self::start(path, open::writer(path)?, registry)
    }

    fn open_at(
        path: &Path,
        registry: &Registry,
        known: &[crate::migration::Migration],
    ) -> Result<Self, StoreError> {
        let mut writer = open::writer(path)?;
        schema::migrate(&mut writer, path, known)?;
        power::rise(&writer, path)?;
        presence::forget_watch(&writer)?;
        Self::start(path, writer, registry)
    }

    fn start(path: &Path, writer: rusqlite::Connection, registry: &Registry) -> Result<Self, StoreError> {
        let metrics = Arc::new(Metrics::register(registry)?);
        let readers = (0..workers::READERS).map(|_| open::reader(path)).collect::<Result<_, _>>()?;
        Ok(Self { workers: Arc::new(Workers::start(writer, readers, metrics)?) })
    }

    /// Runs a transaction that may write: committed when the job answers well, undone when it does not.
    async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.workers.write(job).await
    }

    /// Runs a transaction that only reads: everything in it is of one snapshot.
    async fn read<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Tx<'_>) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.workers.read(job).await
    }
}

#[cfg(test)]
mod tests;
