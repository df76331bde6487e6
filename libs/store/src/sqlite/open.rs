//! Opening connections.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::fault::sqlite_error;
use crate::error::StoreError;

/// Prepared statements that a connection keeps: all of them.
const STATEMENTS: usize = 1024;

/// How long a connection waits for another process, which should not be there.
const BUSY: Duration = Duration::from_secs(5);

/// Kibibytes of pages that a connection keeps in memory.
const CACHE: i64 = 8192;

/// Pages of the write-ahead log after which the writer brings it into the database, and waits for the disk. Pages that are written again and
/// again go there once: a third more messages a second than with the usual 1000, and longer waits (`examples/append_rate`).
const LOG: i64 = 4000;

/// What is left of the write-ahead log after it was emptied.
const JOURNAL: i64 = 64 * 1024 * 1024;

/// The connection that writes, with a file that its owner alone can read.
pub(super) fn writer(path: &Path) -> Result<Connection, StoreError> {
    create(path)?;
    let connection = open(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let mode: String = connection
        .pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))
        .map_err(|error| failed(path, &error))?;
    if mode != "wal" {
        return Err(StoreError::Unavailable(format!(
            "{}: the file system can't hold a database with a write-ahead log",
            path.display()
        )));
    }
    set(&connection, path, "synchronous", "normal")?;
    set(&connection, path, "wal_autocheckpoint", LOG)?;
    set(&connection, path, "journal_size_limit", JOURNAL)?;
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn reader(path: &Path) -> Result<Connection, StoreError> {
    open(path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

/// Makes a file that its owner alone can read, unless there is one.
pub(super) fn create(path: &Path) -> Result<(), StoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
        .open(path)
        .map(drop)
        .map_err(|error| StoreError::Unavailable(format!("{}: {error}", path.display())))
}

fn open(path: &Path, access: OpenFlags) -> Result<Connection, StoreError> {
    // One thread has it at a time, so it needs no mutex.
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|error| failed(path, &error))?;
    connection.busy_timeout(BUSY).map_err(|error| failed(path, &error))?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    rusqlite::vtab::array::load_module(&connection).map_err(|error| failed(path, &error))?;
    set(&connection, path, "foreign_keys", true)?;
    set(&connection, path, "trusted_schema", false)?;
    set(&connection, path, "temp_store", "memory")?;
    set(&connection, path, "cache_size", -CACHE)?;
    set(&connection, path, "mmap_size", 0)?;
    Ok(connection)
}

fn set(
    connection: &Connection,
    path: &Path,
    pragma: &str,
    value: impl rusqlite::ToSql,
) -> Result<(), StoreError> {
    // Some answer with what is set then.
    connection.pragma(None, pragma, value, |_| Ok(())).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &rusqlite::Error) -> StoreError {
    sqlite_error(&path.display().to_string(), error)
}
