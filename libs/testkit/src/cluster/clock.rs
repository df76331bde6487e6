//! Clocks that are wrong.

use std::fs;
use std::path::{Path, PathBuf};

/// The environment of a process whose clock is off by so much.
///
/// # Panics
///
/// libfaketime (the Debian package `faketime`) is not installed.
pub(super) fn off_by(offset: &str) -> [(String, String); 3] {
    let library = library().expect("libfaketime is missing: install the Debian package faketime");
    [
        ("LD_PRELOAD".to_owned(), library.display().to_string()),
        ("FAKETIME".to_owned(), offset.to_owned()),
        // Pauses are measured by the monotonic clock, which no administrator sets.
        ("FAKETIME_DONT_FAKE_MONOTONIC".to_owned(), "1".to_owned()),
    ]
}

/// The library for programs with threads; it lies in the folder of the machine's architecture.
fn library() -> Option<PathBuf> {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    folders
        .chain([Path::new("/usr/lib").to_owned()])
        .map(|folder| folder.join("faketime/libfaketimeMT.so.1"))
        .find(|library| library.is_file())
}
