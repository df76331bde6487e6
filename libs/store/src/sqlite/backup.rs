//! A copy of a database while it is used.

use std::fs::{self, File};
use std::path::Path;

use rusqlite::Connection;

use super::fault::sqlite_error;
use super::statement::statements;
use super::{open, power, schema};
use crate::error::StoreError;

statements! {
    COPY = "backup/copy";
    CHECK = "backup/check";
}

/// Copies the database in `file` into `target`, as it stands at one moment, whoever writes meanwhile; gives the size of the copy in bytes. What is
/// called `target` in the end is whole, was looked through, and lies on the disk; who opens it begins a new epoch of the log. This takes as long as the database is large.
///
/// # Errors
///
/// `Unavailable` when a file can't be read or written, or `target` is there already; `Internal` when the copy is damaged.
pub fn backup(file: &Path, target: &Path) -> Result<u64, StoreError> {
    let failed = |error: std::io::Error| StoreError::Unavailable(format!("{}: {error}", target.display()));
    if target.exists() {
        return Err(StoreError::Unavailable(format!("{} is there already", target.display())));
    }
    let unfinished = schema::beside(target, ".part");
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    // Its owner alone can read it, as the original.
    open::create(&unfinished)?;
    let name = unfinished.to_str().ok_or_else(|| StoreError::Unavailable("the path is no UTF-8".into()))?;
    let source = open::reader(file)?;
    source.execute(COPY.sql, [name]).map_err(|error| sqlite_error(COPY.name, &error))?;
    check(&unfinished)?;
    File::open(&unfinished).and_then(|copy| copy.sync_all()).map_err(failed)?;
    // Before the copy: whoever opens it must know it for one.
    power::expect_copy(target)?;
    fs::rename(&unfinished, target).map_err(failed)?;
    fs::metadata(target).map(|copy| copy.len()).map_err(failed)
}

fn check(copy: &Path) -> Result<(), StoreError> {
    match damage(&open::reader(copy)?)? {
        None => Ok(()),
        Some(damage) => Err(StoreError::Internal(format!("the copy is damaged: {damage}"))),
    }
}

/// What is damaged in a database, if anything is; it is read whole.
pub(super) fn damage(connection: &Connection) -> Result<Option<String>, StoreError> {
    let said: String = connection
        .query_row(CHECK.sql, [], |row| row.get(0))
        .map_err(|error| sqlite_error(CHECK.name, &error))?;
    Ok((said != "ok").then_some(said))
}
