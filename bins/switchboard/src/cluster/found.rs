//! A cluster that runs on this machine, as commands of administrators find it.

use std::path::{Path, PathBuf};

use super::control;
use super::error::{ClusterError, Context};
use super::home::{keys_path, read_state};

/// Where a running cluster keeps what its nodes share.
pub struct Found {
    /// Its data directory.
    pub dir: PathBuf,
    /// Its database. Holds the password.
    pub database_url: String,
    /// Its signing keys.
    pub keys: PathBuf,
}

impl Found {
    /// The cluster that runs on a data directory.
    ///
    /// # Errors
    ///
    /// None runs there, or it is somebody else's.
    pub fn on(dir: &Path) -> Result<Self, ClusterError> {
        // What one that was killed left there is not true any more.
        control::reach(dir)?;
        let dir = dir.canonicalize().context(|| format!("can't find {}", dir.display()))?;
        let state = read_state(&dir)?;
        let url = state["database_url"].as_str().unwrap_or_default().to_owned();
        Ok(Self { database_url: url, keys: keys_path(&dir), dir })
    }
}
