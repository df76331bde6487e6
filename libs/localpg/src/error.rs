//! What can go wrong with a private server, said so that whoever reads it knows what to do.

use std::io;
use std::path::PathBuf;

/// A failure to make, start, stop or ask the private server.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no PostgreSQL here.
    #[error(
        "PostgreSQL's server programs (postgres, initdb) are neither on PATH nor under /usr/lib/postgresql/*/bin; \
         install them (Debian, Ubuntu: apt-get install postgresql), or name a database of your own"
    )]
    NotInstalled,
    /// The data directory was made by another major version than those found.
    #[error(
        "{dir} holds data of PostgreSQL {major}, and no such server was found; \
         install it (Debian, Ubuntu: apt-get install postgresql-{major}), or use another directory"
    )]
    OtherVersion {
        /// The data directory.
        dir: PathBuf,
        /// The version that made it.
        major: String,
    },
    /// The user the server runs as can't enter the directory.
    #[error(
        "the server runs as the user {user}, never as root, and {user} cannot enter {dir}; \
         use a directory that every user can reach"
    )]
    Unreachable {
        /// The directory.
        dir: PathBuf,
        /// The user.
        user: String,
    },
    /// Root starts the server, and there is nobody to run it as.
    #[error(
        "PostgreSQL does not run as root, and there is neither a user `postgres` nor `nobody` to run it as"
    )]
    NoUser,
    /// Another process holds the directory.
    #[error("{0} is in use by another process")]
    InUse(PathBuf),
    /// The data is there, but the password is not.
    #[error("{0} is missing, so the data beside it cannot be opened; put it back, or remove the directory")]
    PasswordMissing(PathBuf),
    /// `initdb` failed.
    #[error("initdb failed: {0}")]
    Initdb(String),
    /// The server ended before it was ready.
    #[error("PostgreSQL ended while starting ({status}): {log}")]
    Ended {
        /// How it ended.
        status: String,
        /// The end of its log.
        log: String,
    },
    /// The server was not ready in time.
    #[error("PostgreSQL was not ready within {seconds} s: {log}")]
    NotReady {
        /// The time it had.
        seconds: u64,
        /// The end of its log, or what it last answered.
        log: String,
    },
    /// The server does not end, not even when killed.
    #[error("process {0} of the server does not end")]
    DoesNotEnd(u32),
    /// The call needs a server that runs, or one that does not.
    #[error("the server {0}")]
    State(&'static str),
    /// The server refused a statement, or the connection to it broke.
    #[error("PostgreSQL: {0}")]
    Database(#[from] tokio_postgres::Error),
    /// A file or process could not be handled.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// Why it failed.
        source: io::Error,
    },
}

/// Puts what was tried before an I/O error.
pub(crate) trait Context<T> {
    /// `what` is only made when there is an error.
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|source| Error::Io { what: what(), source })
    }
}
