//! What can be wrong with settings, in words for the person who starts the node.

use std::fmt;
use std::path::PathBuf;

/// Where the value of a setting came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// Nobody set it.
    Default,
    /// The configuration file.
    File(PathBuf),
    /// An environment variable, by its name.
    Variable(String),
    /// The command line.
    Flag(String),
    /// The content of a file that another source names.
    Content {
        /// The file.
        path: PathBuf,
        /// Who named it.
        named_by: Box<Self>,
    },
}

impl Source {
    /// The source that says so in the end.
    fn origin(&self) -> &Self {
        match self {
            Self::Content { named_by, .. } => named_by.origin(),
            itself => itself,
        }
    }

    /// Whether the value is the content of a file that was named.
    pub(super) const fn is_content(&self) -> bool {
        matches!(self, Self::Content { .. })
    }

    /// Whether both are of the same rank: neither overrules the other.
    pub(super) fn is_beside(&self, other: &Self) -> bool {
        std::mem::discriminant(self.origin()) == std::mem::discriminant(other.origin())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("the default"),
            Self::File(path) => write!(f, "the file {}", path.display()),
            Self::Variable(name) => write!(f, "the environment variable {name}"),
            Self::Flag(key) => write!(f, "the command line (for {key})"),
            Self::Content { path, named_by } => write!(f, "the file {}, named by {named_by}", path.display()),
        }
    }
}

/// Settings that stop the start.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The configuration file can't be read.
    #[error("can't read the configuration file {} (named by {named_by}): {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The flag or variable that named it.
        named_by: &'static str,
        /// What the operating system said.
        reason: std::io::Error,
    },
    /// The configuration file is no TOML. The line itself is not shown: it may hold a secret.
    #[error("the configuration file {} is no valid TOML: {reason}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Position and reason.
        reason: String,
    },
    /// There is no such key.
    #[error("unknown setting {key} in {source_of}{}", suggestion(nearest.as_deref()))]
    UnknownKey {
        /// The key that was given.
        key: String,
        /// Who gave it.
        source_of: Source,
        /// The known key that looks most like it.
        nearest: Option<String>,
    },
    /// A variable that was meant to be a setting, and would be ignored.
    #[error(
        "the environment variable {name} sets nothing: settings have two underscores behind SWITCHBOARD; {meant} is meant"
    )]
    NearlyASetting {
        /// The variable.
        name: String,
        /// What it would have to be called.
        meant: String,
    },
    /// The key does not take this value.
    #[error("setting {key}: {given} in {source_of} is not allowed; allowed is {allowed}")]
    BadValue {
        /// The key.
        key: String,
        /// The value, or why it is not shown.
        given: String,
        /// Who gave it.
        source_of: Source,
        /// What the key takes.
        allowed: String,
    },
    /// The file whose content is to be the value of a key can't be used. What it holds is not shown.
    #[error("setting {key}: the file {}, named by {named_by}, {reason}", path.display())]
    Content {
        /// The key.
        key: String,
        /// The file.
        path: PathBuf,
        /// Who named it.
        named_by: Source,
        /// What is wrong with it.
        reason: String,
    },
    /// A key has a value and a file that holds its value, and neither overrules the other.
    #[error("setting {key}: it is set by {first} and by {second}; give one of them")]
    Twice {
        /// The key.
        key: String,
        /// Who gave it first.
        first: Source,
        /// Who gave it too.
        second: Source,
    },
    /// The settings type itself is at fault: its default can't be written out as a tree of keys.
    #[error("the default settings can't be written out: {0}")]
    Defaults(String),
}

impl SettingsError {
    /// The kind of failure: always a request that is wrong, but for a settings type that is.
    #[must_use]
    pub const fn kind(&self) -> domain::ErrorKind {
        match self {
            Self::Defaults(_) => domain::ErrorKind::Internal,
            _ => domain::ErrorKind::Invalid,
        }
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(|| "; see docs/configuration.md".to_owned(), |key| format!("; did you mean {key}?"))
}
