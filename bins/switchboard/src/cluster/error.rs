//! What can go wrong with a local cluster, said so that whoever reads it knows what to do.

use std::io;
use std::path::PathBuf;

use domain::ErrorKind;

/// A failure of `switchboard cluster`.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// Another `cluster` runs on the data directory.
    #[error(
        "a cluster runs on {} already, as process {pid}; stop it (kill {pid}), or use another --data-dir", dir.display()
    )]
    Running {
        /// The data directory.
        dir: PathBuf,
        /// The process that holds it.
        pid: String,
    },
    /// No `cluster` runs on the data directory.
    #[error(
        "no cluster runs on {}; start one with `switchboard cluster`, or name its --data-dir", _0.display()
    )]
    NotRunning(PathBuf),
    /// The private PostgreSQL.
    #[error("{0}")]
    Postgres(#[from] localpg::Error),
    /// The database.
    #[error(transparent)]
    Database(#[from] node::NoDatabase),
    /// There is no such node.
    #[error("there is no node {name}; there are {known}")]
    NoNode {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// The running cluster refused.
    #[error("{0}")]
    Refused(String),
    /// A port that was asked for is in use.
    #[error("port {port} for {node} can't be used ({source}); choose another --port-base")]
    PortTaken {
        /// The port.
        port: u16,
        /// The node it was for.
        node: String,
        /// Why.
        source: io::Error,
    },
    /// A node of the run before does not let go of a port.
    #[error(
        "port {port} is used by {name} of the run before for {seconds} s already; end it (kill -9 {pid}, process {pid}), \
         or choose another --port-base"
    )]
    PortKept {
        /// The port.
        port: u16,
        /// The node that has it.
        name: String,
        /// Its process.
        pid: u32,
        /// How long it was waited for.
        seconds: u64,
    },
    /// Counting up from the base, there is no port left.
    #[error("{0} would need a port above 65535; choose a lower --port-base")]
    PortsEnd(String),
    /// No port was found.
    #[error("no free port was found")]
    NoPort,
    /// A node ended before it was ready.
    #[error("{name} ended before it was ready ({how}); the end of its log, {}:\n{tail}", log.display())]
    Ended {
        /// The node.
        name: String,
        /// How it ended.
        how: String,
        /// Its log.
        log: PathBuf,
        /// The end of it.
        tail: String,
    },
    /// A node did not become ready.
    #[error("{name} was not ready within {seconds} s, its last answer: {last}; its log is {}", log.display())]
    NotReady {
        /// The node.
        name: String,
        /// The time it had.
        seconds: u64,
        /// What it last said.
        last: String,
        /// Its log.
        log: PathBuf,
    },
    /// It was told to stop before it stood.
    #[error("told to stop before every node was ready")]
    Interrupted,
    /// A file, socket or process could not be handled.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

impl ClusterError {
    /// What sort of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Running { .. } | Self::Refused(_) | Self::PortKept { .. } => ErrorKind::Conflict,
            Self::NotRunning(_) => ErrorKind::Unavailable,
            Self::NoNode { .. } => ErrorKind::NotFound,
            Self::PortTaken { .. } | Self::PortsEnd(_) => ErrorKind::Invalid,
            Self::Database(error) => error.kind(),
            Self::NotReady { .. } => ErrorKind::Timeout,
            Self::Postgres(_) | Self::NoPort | Self::Ended { .. } | Self::Interrupted | Self::Io { .. } => {
                ErrorKind::Internal
            }
        }
    }
}

/// Puts what was tried before an I/O error.
pub(super) trait Context<T> {
    /// `what` is only made when there is an error.
    fn context(self, what: impl FnOnce() -> String) -> Result<T, ClusterError>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, ClusterError> {
        self.map_err(|source| ClusterError::Io { what: what(), source })
    }
}
