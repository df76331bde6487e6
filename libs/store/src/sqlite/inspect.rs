//! What a database is like, for whoever looks after it.

use std::path::Path;

use super::schema::{self, beside};
use super::{MIGRATIONS, backup, open, power};
use crate::error::StoreError;

/// What [`inspect`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Bytes of the file and of the write-ahead log beside it.
    pub size: u64,
    /// Migrations that it has.
    pub migrations: usize,
    /// Migrations of this binary.
    pub known: usize,
    /// What is damaged, if anything is.
    pub damage: Option<String>,
    /// Whether its machine was started again while it was in use: its last moments may be missing.
    pub is_cut_short: bool,
}

/// Looks a database through without changing anything, whoever uses it meanwhile. It is read whole, which takes as long as it is large.
///
/// # Errors
///
/// `Unavailable` when it can't be read; `Schema` when it was migrated by others; `Internal` when it is no database.
pub fn inspect(path: &Path) -> Result<Facts, StoreError> {
    let connection = open::reader(path)?;
    let migrations = schema::count(&connection)?;
    let damage = backup::damage(&connection)?;
    let bytes = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    Ok(Facts {
        size: bytes(path) + bytes(&beside(path, "-wal")),
        migrations,
        known: MIGRATIONS.len(),
        damage,
        is_cut_short: power::is_cut_short(path)?,
    })
}
