//! The embedded database.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Section `embedded`.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbeddedSettings {
    /// The file of the embedded database, which serves one process with every role while `database.url` is empty. The folder it lies in
    /// belongs to that process.
    pub file: PathBuf,
}

impl Default for EmbeddedSettings {
    fn default() -> Self {
        Self { file: PathBuf::from(".switchboard/switchboard.db") }
    }
}
