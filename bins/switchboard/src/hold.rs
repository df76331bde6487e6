//! A folder that one process at a time has.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;

/// Why a folder can't be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotHeld {
    /// Another process has it.
    #[error("process {0} has it")]
    Taken(String),
    /// Its lock can't be used.
    #[error("its lock can't be used: {0}")]
    Io(#[from] io::Error),
}

/// Takes a folder until the file is dropped or the process ends, however it ends. The file `lock` in it names the process.
///
/// # Errors
///
/// Another process has it; the file can't be made or locked.
pub(crate) fn hold(dir: &Path) -> Result<File, NotHeld> {
    let path = dir.join("lock");
    let mut lock = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(&path)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(NotHeld::Taken(written(&mut lock))),
        Err(TryLockError::Error(error)) => return Err(error.into()),
    }
    lock.set_len(0)?;
    writeln!(lock, "{}", std::process::id())?;
    Ok(lock)
}

/// The process that has a folder, if one has. This changes nothing.
///
/// # Errors
///
/// Its lock can't be read.
pub(crate) fn holder(dir: &Path) -> io::Result<Option<String>> {
    let mut lock = match File::open(dir.join("lock")) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    match lock.try_lock_shared() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Ok(Some(written(&mut lock))),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// The number in a lock.
fn written(lock: &mut File) -> String {
    let mut pid = String::new();
    // Whoever holds it may not have written it yet.
    drop(lock.read_to_string(&mut pid));
    let pid = if pid.trim().is_empty() { "(starting)" } else { pid.trim() };
    pid.to_owned()
}
