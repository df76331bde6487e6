//! Errors: of the rules, and of SQLite.

use rusqlite::{Error, ErrorCode};

use crate::error::{Refusal, StoreError};

/// Why a job did not succeed. Nothing of it is written.
#[derive(Debug)]
pub(super) enum Fault {
    /// A rule of the domain said no.
    Refused(Refusal),
    /// The database failed, or one of us.
    Failed(StoreError),
}

impl Fault {
    /// A fault of ours or of the database that nobody can act on.
    pub(super) fn internal(text: impl Into<String>) -> Self {
        Self::Failed(StoreError::Internal(text.into()))
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Refused(refusal) => Self::Refused(refusal),
            error => Self::Failed(error),
        }
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Refused(refusal) => Self::Refused(refusal),
            Fault::Failed(error) => error,
        }
    }
}

/// Reads an error of SQLite; `what` was being done. Its texts name tables and columns, never values.
pub(super) fn sqlite_error(what: &str, error: &Error) -> StoreError {
    let text = format!("{what}: {error}");
    match error.sqlite_error_code() {
        Some(
            // Others have the file open, which should not be.
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::FileLockingProtocolFailed
            // The disk, or memory.
            | ErrorCode::DiskFull
            | ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::OutOfMemory,
        ) => StoreError::Unavailable(text),
        Some(ErrorCode::OperationInterrupted) => StoreError::Timeout(text),
        Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => StoreError::Denied(text),
        _ => StoreError::Internal(text),
    }
}
