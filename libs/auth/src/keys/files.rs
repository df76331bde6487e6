//! Files of secrets: whole or not there at all, written once, and closed to strangers.
//!
//! A file is written under a temporary name, synced, then linked to its own, which fails when there is one: of many
//! processes that start at once one wins. Whoever dies in between leaves a file that nobody names, and changes nothing.
//!
//! Modes: the owner, and the group where a volume plugin forces it. Never everybody, but for a directory that is mounted read only:
//! Kubernetes mounts a Secret as a directory of mode 1777, whose files nobody can replace; they have modes of their own.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind as Io, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use rustix::fs::{StatVfsMountFlags, statvfs};

use uuid::Uuid;

/// Longest file that is read.
const MAX_BYTES: u64 = 256 * 1024;
/// Nobody writes a file for longer; what is left of one is of somebody who died.
const LEFTOVER_AFTER: Duration = Duration::from_hours(1);

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
    let mode = mode(dir)?;
    if is_closed(mode) || is_read_only(dir) { Ok(()) } else { Err(open_to_all(dir, mode, "0700")) }
}

/// Whether a file or directory lies where nothing can be written.
#[must_use]
pub fn is_read_only(path: &Path) -> bool {
    statvfs(path).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// The names of what lies in a directory; those that are no text are passed over.
///
/// # Errors
///
/// When it can't be listed.
pub fn names(dir: &Path) -> Result<Vec<String>, FileFault> {
    let listed = |error: std::io::Error| fault("list", dir, &error);
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(listed)? {
        names.extend(entry.map_err(listed)?.file_name().into_string().ok());
    }
    Ok(names)
}

/// Removes what writers left behind who died long ago.
///
/// # Errors
///
/// When the directory can't be listed, or something not removed.
pub fn remove_leftovers(dir: &Path) -> Result<(), FileFault> {
    for name in names(dir)?.iter().filter(|name| name.starts_with('.') && name.ends_with(".tmp")) {
        let path = dir.join(name);
        let written = fs::metadata(&path).and_then(|found| found.modified());
        let age = written.ok().and_then(|written| SystemTime::now().duration_since(written).ok());
        if age.is_some_and(|age| age > LEFTOVER_AFTER) {
            remove(&path)?;
        }
    }
    Ok(())
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

/// Removes a file, if it is there.
///
/// # Errors
///
/// When it can't be removed.
pub fn remove(path: &Path) -> Result<(), FileFault> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != Io::NotFound => Err(fault("remove", path, &error)),
        _ => Ok(()),
    }
}

/// Reads a file of secrets.
///
/// # Errors
///
/// When it can't be read, is open to everybody, or is far too long.
pub fn read(path: &Path) -> Result<Vec<u8>, FileFault> {
    let mode = mode(path)?;
    if !is_closed(mode) {
        return Err(open_to_all(path, mode, "0600"));
    }
    let length = fs::metadata(path).map_err(|e| fault("read", path, &e))?.len();
    if length > MAX_BYTES {
        return Err(FileFault(format!("{} has {length} bytes and is no key file", path.display())));
    }
    fs::read(path).map_err(|e| fault("read", path, &e))
}

/// Links are followed: a Secret of Kubernetes consists of them.
fn mode(path: &Path) -> Result<u32, FileFault> {
    fs::metadata(path).map(|found| found.permissions().mode()).map_err(|e| fault("look at", path, &e))
}

const fn is_closed(mode: u32) -> bool {
    mode & 0o007 == 0
}

fn open_to_all(path: &Path, mode: u32, wanted: &str) -> FileFault {
    let path = path.display();
    FileFault(format!(
        "{path} is open to everybody (mode {:04o}); do: chmod {wanted} {path}, or defaultMode: 0440 of a volume of Kubernetes",
        mode & 0o7777,
    ))
}

fn fault(what: &str, path: &Path, error: &std::io::Error) -> FileFault {
    let hint = match error.kind() {
        Io::PermissionDenied => "; it must belong to the user that Switchboard runs as",
        Io::Unsupported => "; the file system must know hard links",
        Io::NotFound => "; is the volume mounted?",
        Io::ReadOnlyFilesystem => "; whoever fills the volume has to put it there",
        _ => "",
    };
    FileFault(format!("could not {what} {}: {error}{hint}", path.display()))
}
