//! What can go wrong on the channel. Everything but a metric registered twice is tried again.

use std::time::Duration;

use domain::ErrorKind;
use tokio_postgres::error::SqlState;

use crate::connect::ConnectError;

/// Why the channel does not work just now. The text is for logs and readiness.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection.
    #[error("connecting failed: {0}")]
    Connect(#[source] ConnectError),
    /// No answer in time.
    #[error("{what} took longer than {}", domain::duration::display(*.limit))]
    Timeout {
        /// What was waited for.
        what: &'static str,
        /// How long.
        limit: Duration,
    },
    /// The server ended the connection without a word.
    #[error("the connection was closed")]
    Closed,
    /// The server refused, or the connection broke.
    #[error("{}", describe(.0))]
    Database(#[source] tokio_postgres::Error),
    /// The server is a standby, which has no LISTEN and no NOTIFY.
    #[error(
        "the server is a read-only standby, where LISTEN and NOTIFY don't work: connect to the primary \
         (target_session_attrs=read-write)"
    )]
    Standby,
    /// NOTIFY was answered, but LISTEN did not hear it.
    #[error(
        "NOTIFY was accepted but LISTEN did not hear it within {}: is there a pooler in transaction mode in between? \
         The listener needs a direct connection",
        domain::duration::display(*.limit)
    )]
    Unheard {
        /// How long it listened.
        limit: Duration,
    },
    /// NOTIFY was answered, but LISTEN, which worked before, did not hear it.
    #[error(
        "NOTIFY was accepted but LISTEN did not hear it within {}: this node or the server can't keep up",
        domain::duration::display(*.limit)
    )]
    Late {
        /// How long it listened.
        limit: Duration,
    },
    /// A metric could not be registered.
    #[error("registering metrics failed: {0}")]
    Metrics(#[from] prometheus::Error),
}

impl Error {
    /// What sort of failure this is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Connect(_)
            | Self::Closed
            | Self::Database(_)
            | Self::Standby
            | Self::Unheard { .. }
            | Self::Late { .. } => ErrorKind::Unavailable,
            Self::Timeout { .. } => ErrorKind::Timeout,
            Self::Metrics(_) => ErrorKind::Internal,
        }
    }

    /// Whether the connection is as good as before: the lock was not granted in time, or the queue is full.
    pub(crate) fn leaves_session(&self) -> bool {
        const PASSING: [SqlState; 2] = [SqlState::LOCK_NOT_AVAILABLE, SqlState::PROGRAM_LIMIT_EXCEEDED];
        matches!(self, Self::Database(error) if error.code().is_some_and(|code| PASSING.contains(code)))
    }
}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.code() {
            Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => Self::Standby,
            _ if error.is_closed() => Self::Closed,
            _ => Self::Database(error),
        }
    }
}

fn describe(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(
        || error.to_string(),
        |refused| format!("PostgreSQL says {}: {}", refused.code().code(), refused.message()),
    )
}
