//! Moving everything from the embedded SQLite to PostgreSQL, by a folder in between.
//!
//! ```text
//! export/            0700, its files 0600
//!   users.ndjson     one file a table: one row a line, JSON, all columns by name, in the order of the table's key
//!   ...
//!   keys/  push/     whatever whoever exports has put there before
//!   manifest.json    written last: what there is, with rows, bytes and SHA-256 of each file
//! ```
//!
//! [`tables`] says what is moved, and what is left behind; [`line`] is the form of a row, [`manifest`] the list of an export. The two databases have
//! their halves beside the rest of them: [`crate::sqlite::export`] reads, [`crate::postgres::import`] writes.
//!
//! A row has one line, whichever database it is read from. So what was written into PostgreSQL is read again in the same order, and has the same
//! SHA-256 as the file that it came from, or something is wrong.
//!
//! | when somebody dies | then |
//! |---|---|
//! | the export, anywhere | there is no manifest, and an import refuses the folder: export again, into another |
//! | the import, in a batch | neither its rows nor the note of them are there: run it again, it goes on with that batch |
//! | the import, between batches, or after the last | run it again: the notes say what is there |
//! | the database | as above; what is not in its WAL (`run_patches`) begins anew with each run of the import |
//!
//! While the notes are there (the table `import_progress`), no node starts on the database, and nobody migrates it. In the end they are
//! renamed (`import_ended`): the same import again has nothing to do.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::ErrorKind;

use crate::error::StoreError;

pub mod line;
pub mod manifest;
pub mod tables;

#[cfg(test)]
mod tests;

pub use manifest::{Export, Manifest};

/// Why something could not be moved.
#[derive(Debug, thiserror::Error)]
pub enum TransferError {
    /// It is not as it must be; the text says what to do. Nothing was written, unless it says so.
    #[error("{0}")]
    Refused(String),
    /// A file can't be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A database.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl TransferError {
    /// What sort of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Refused(_) => ErrorKind::Conflict,
            Self::File { .. } => ErrorKind::Internal,
            Self::Store(error) => error.kind(),
        }
    }

    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}

/// How far a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// What is done with it.
    pub step: Step,
    /// Which table.
    pub table: &'static str,
    /// Rows so far.
    pub rows: u64,
    /// Rows that there are.
    pub of: u64,
    /// Rows of them that this run has done, the others were done by one before it.
    pub here: u64,
    /// How long this run has been at the table.
    pub took: Duration,
}

/// What is done with a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is written into its file.
    Written,
    /// It is put into the database.
    Loaded,
    /// It is read from the database again, and compared.
    Compared,
}

/// Who is told how far it is, after each batch.
pub type Watcher<'a> = &'a mut (dyn FnMut(Progress) + Send);
