//! Files of secrets: whole or not there at all, written once, and closed to strangers.
//!
//! A file is written under a temporary name, synced, then linked to its own, which fails when there is one: of many
//! processes that start at once one wins. Whoever dies in between leaves a file that nobody names, and changes nothing.
//!
//! Modes: the owner, and the group where a volume plugin forces it. Never everybody.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind as Io, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use uuid::Uuid;

/// Longest file that is read.
const MAX_BYTES: u64 = 256 * 1024;

/// What stands in the way, by the name of the file, and the fix: for the operator's eyes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct FileFault(pub String);

/// Makes a directory for secrets where there is none.
///
/// # Errors
///
/// When it can't be made, or is open to everybody.
pub fn make_dir(dir: &Path) -> Result<(), FileFault> {
    DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|e| fault("make", dir, &e))?;
    check_dir(dir)
}

/// Whether a directory for secrets is closed to strangers.
///
/// # Errors
///
/// When it is not, or is not there.
pub fn check_dir(dir: &Path) -> Result<(), FileFault> {
    refuse_strangers(dir, "0700")
}

/// Whether there is such a file.
///
/// # Errors
///
/// When that can't be told.
pub fn is_there(path: &Path) -> Result<bool, FileFault> {
    path.try_exists().map_err(|e| fault("look for", path, &e))
}

/// Puts a new file into a directory, whole, on disk, and only where there is none: whether there was none.
///
/// # Errors
///
/// When it can't be written.
pub fn place(dir: &Path, path: &Path, bytes: &[u8]) -> Result<bool, FileFault> {
    match link_new(dir, path, bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == Io::AlreadyExists => Ok(false),
        Err(error) => Err(fault("write", path, &error)),
    }
}

fn link_new(dir: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = dir.join(format!(".{}.tmp", Uuid::now_v7()));
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::hard_link(&temporary, path)
    })();
    let removed = fs::remove_file(&temporary);
    written.and(removed)?;
    File::open(dir)?.sync_all()
}

/// Removes a file.
///
/// # Errors
///
/// When it can't be removed.
pub fn remove(path: &Path) -> Result<(), FileFault> {
    fs::remove_file(path).map_err(|e| fault("remove", path, &e))
}

/// Reads a file of secrets.
///
/// # Errors
///
/// When it can't be read, is open to everybody, or is far too long.
pub fn read(path: &Path) -> Result<Vec<u8>, FileFault> {
    refuse_strangers(path, "0600")?;
    let length = fs::metadata(path).map_err(|e| fault("read", path, &e))?.len();
    if length > MAX_BYTES {
        return Err(FileFault(format!("{} has {length} bytes and is no key file", path.display())));
    }
    fs::read(path).map_err(|e| fault("read", path, &e))
}

fn refuse_strangers(path: &Path, mode: &str) -> Result<(), FileFault> {
    let permissions = fs::metadata(path).map_err(|e| fault("look at", path, &e))?.permissions();
    if permissions.mode() & 0o007 == 0 {
        return Ok(());
    }
    Err(FileFault(format!(
        "{path} is open to everybody (mode {present:04o}); do: chmod {mode} {path}",
        path = path.display(),
        present = permissions.mode() & 0o7777,
    )))
}

fn fault(what: &str, path: &Path, error: &std::io::Error) -> FileFault {
    let hint = match error.kind() {
        Io::PermissionDenied => "; it must belong to the user that Switchboard runs as",
        Io::Unsupported => "; the file system must know hard links",
        Io::NotFound => "; is the volume mounted?",
        _ => "",
    };
    FileFault(format!("could not {what} {}: {error}{hint}", path.display()))
}
