//! What a loss of power may have taken.
//!
//! A commit is in the operating system's hands, not on the disk: when a process dies nothing is lost, when the machine does the last commits
//! may be. Their numbers would then be handed out again, to other events, while clients have cursors past them. So as long as a database
//! is used, a file beside it names the boot of the machine that uses it. Who opens it at another boot finds that nobody put it to rest,
//! and begins a new epoch of the log: cursors of the old one are worth nothing, and clients refetch. So it is with a copy, which names no boot at all:
//! clients may have seen more than it has.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use domain::LogEpoch;
use rusqlite::Connection;
use uuid::Uuid;

use super::fault::sqlite_error;
use super::open;
use super::schema::beside;
use super::statement::statements;
use crate::error::StoreError;

statements! {
    BEGIN_EPOCH = "power/begin_epoch";
}

/// Where Linux says which boot this is.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// What is noted of a copy.
const COPY: &str = "a copy";

/// Notes that the database is used, and begins a new epoch of its log when its last user did not outlive its machine.
pub(super) fn rise(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let (mark, boot) = (mark(path), boot());
    let used_at = used_at(&mark)?;
    if used_at.as_ref() == Some(&boot) {
        return Ok(());
    }
    if used_at.is_some() {
        // On the disk before the mark says that it was done.
        let begun = connection.execute(BEGIN_EPOCH.sql, [LogEpoch::new().0]);
        begun.map_err(|error| sqlite_error(BEGIN_EPOCH.name, &error))?;
        flush(connection)?;
        tracing::warn!(
            "the database is a copy, or its machine went down while it was in use and its last moments may be missing: \
             a new epoch of the log begins, clients refetch"
        );
    }
    write_mark(&mark, &boot).map_err(|error| failed(&mark, &error))
}

/// Brings all that was committed to the disk, and notes that the database is at rest: what happens to the machine from
/// here on takes nothing from it. For the process that served it, in the end. This writes files, and waits up to 5 s for whoever is in the middle of
/// something.
///
/// # Errors
///
/// `Unavailable` when it is gone, somebody is at it for longer, or a file can't be written; the next start then takes it as it is.
pub fn rest(path: &Path) -> Result<(), StoreError> {
    let mark = mark(path);
    if !path.exists() {
        // To open it would make another.
        return Err(StoreError::Unavailable(format!("{} is gone", path.display())));
    }
    flush(&open::writer(path)?)?;
    let removed = fs::remove_file(&mark).and_then(|()| sync_folder(&mark));
    removed.map_err(|error| failed(&mark, &error))
}

/// Notes that this is the place of a copy that is about to come.
pub(super) fn expect_copy(path: &Path) -> Result<(), StoreError> {
    let mark = mark(path);
    write_mark(&mark, COPY).map_err(|error| failed(&mark, &error))
}

/// Whether the machine was started again since the database was used last, and that was not put to rest.
pub(super) fn is_cut_short(path: &Path) -> Result<bool, StoreError> {
    Ok(used_at(&mark(path))?.is_some_and(|used_at| used_at != boot()))
}

/// The boot at which the database is used, or was when it was not put to rest.
fn used_at(mark: &Path) -> Result<Option<String>, StoreError> {
    match fs::read(mark) {
        // Whatever stands there: it is not this boot.
        Ok(used_at) => Ok(Some(String::from_utf8_lossy(&used_at).into_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(mark, &error)),
    }
}

/// All that is committed lies in the database itself after this, and on the disk.
fn flush(connection: &Connection) -> Result<(), StoreError> {
    let mut busy = true;
    let flushed = connection.pragma(None, "wal_checkpoint", "truncate", |row| {
        busy = row.get(0)?;
        Ok(())
    });
    flushed.map_err(|error| sqlite_error("checkpoint", &error))?;
    if busy { Err(StoreError::Unavailable("the database is in use".into())) } else { Ok(()) }
}

fn mark(path: &Path) -> PathBuf {
    beside(path, ".boot")
}

/// This boot's name. Where none is given, each start counts as one: who is killed there begins a new epoch next time.
fn boot() -> String {
    fs::read_to_string(BOOT)
        .ok()
        .map(|boot| boot.trim().to_owned())
        .filter(|boot| !boot.is_empty())
        .unwrap_or_else(|| Uuid::new_v4().to_string())
}

/// Whole or not at all, and on the disk when this is over.
fn write_mark(mark: &Path, boot: &str) -> io::Result<()> {
    let unfinished = beside(mark, ".part");
    // The name of a boot is no secret, but whoever may not read the database has no business beside it.
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&unfinished)?;
    file.write_all(boot.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, mark)?;
    sync_folder(mark)
}

fn sync_folder(file: &Path) -> io::Result<()> {
    // Of a bare name the parent is the empty path.
    match file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => File::open(folder)?.sync_all(),
        None => File::open(".")?.sync_all(),
    }
}

fn failed(mark: &Path, error: &io::Error) -> StoreError {
    StoreError::Unavailable(format!("{}: {error}", mark.display()))
}
