//! A file with a secret in it, which its owner alone can read.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// One line in a file of mode 0600.
#[derive(Debug, Clone)]
pub(crate) struct SecretFile(PathBuf);

impl SecretFile {
    /// The file at this path, which need not be there.
    pub(crate) const fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// What is in it; none where it can't be read.
    pub(crate) fn read(&self) -> Option<String> {
        fs::read_to_string(&self.0).ok().map(|line| line.trim().to_owned())
    }

    /// Replaces what is in it, whole or not at all.
    ///
    /// # Errors
    ///
    /// It can't be written.
    pub(crate) fn write(&self, line: &str) -> io::Result<()> {
        let fresh = self.0.with_added_extension("new");
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&fresh)?;
        writeln!(file, "{line}")?;
        file.sync_all()?;
        fs::rename(&fresh, &self.0)
    }
}
