//! The SQLSTATEs that mean something to us, and what each becomes.

use std::error::Error as _;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

use crate::error::{Refusal, StoreError};

/// What to do where statements get lost between sessions.
const POOLER: &str = " (behind a pooler in transaction mode? database.url must lead to the database itself)";

/// Why a statement or transaction did not succeed, inside of this module.
#[derive(Debug)]
pub(super) enum Fault {
    /// Others were in the way (deadlock, serialization, a plan gone stale): the whole
    /// transaction did nothing and may be repeated.
    Contended(String),
    /// It is as it is.
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
        Self::Failed(error)
    }
}

impl From<Refusal> for Fault {
    fn from(refusal: Refusal) -> Self {
        Self::Failed(refusal.into())
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Contended(text) => Self::Unavailable(format!("given up after repeats: {text}")),
            Fault::Failed(error) => error,
        }
    }
}

/// What is to become of the connection after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Afterwards {
    /// It is as good as before.
    Keep,
    /// It is lost, or talks to a server that is no longer the right one, or holds stale statements.
    Close,
}

/// Reads an error of a statement.
pub(super) fn statement_fault(statement: &str, error: &Error) -> (Fault, Afterwards) {
    let Some(database) = error.as_db_error() else {
        let lost =
            error.is_closed() || error.source().is_some_and(<dyn std::error::Error>::is::<std::io::Error>);
        let text = format!("{statement}: {}", with_source(error));
        return if lost {
            (StoreError::Unavailable(text).into(), Afterwards::Close)
        } else {
            (StoreError::Internal(text).into(), Afterwards::Close)
        };
    };
    // Detail and hint stay out: they quote values.
    let code = database.code();
    let hint = if is_of_a_pooler(code) { POOLER } else { "" };
    let text = format!("{statement}: {} {}{hint}", code.code(), database.message());
    if is_contention(code) || is_race(database) {
        (Fault::Contended(text), Afterwards::Keep)
    } else if is_stale_plan(code, database.message()) {
        (Fault::Contended(text), Afterwards::Close)
    } else if is_unavailable(code) {
        (StoreError::Unavailable(text).into(), Afterwards::Close)
    } else if is_timeout(code) {
        (StoreError::Timeout(text).into(), Afterwards::Keep)
    } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
        (StoreError::Denied(text).into(), Afterwards::Keep)
    } else {
        (StoreError::Internal(text).into(), Afterwards::Keep)
    }
}

/// Reads an error of opening a connection: whatever it is, there is no database to work with.
pub(super) fn connect_error(error: &Error) -> StoreError {
    StoreError::Unavailable(with_source(error))
}

fn with_source(error: &Error) -> String {
    if let Some(database) = error.as_db_error() {
        return format!("{} {}", database.code().code(), database.message());
    }
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn is_contention(code: &SqlState) -> bool {
    [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED].contains(code)
}

/// Two made runs of one task ready, or ticks of one task, or named one address of pushes, at the same instant: the index let one of them.
fn is_race(error: &DbError) -> bool {
    *error.code() == SqlState::UNIQUE_VIOLATION
        && matches!(
            error.constraint(),
            Some("task_queue_active" | "task_queue_tick" | "push_subscriptions_address")
        )
}

/// A migration changed a table under a prepared statement, or a pooler forgot it.
fn is_stale_plan(code: &SqlState, message: &str) -> bool {
    *code == SqlState::INVALID_SQL_STATEMENT_NAME
        || (*code == SqlState::FEATURE_NOT_SUPPORTED && message.contains("cached plan"))
}

/// One session's statements in another's: what a pooler in transaction mode makes of them.
fn is_of_a_pooler(code: &SqlState) -> bool {
    [SqlState::DUPLICATE_PSTATEMENT, SqlState::INVALID_SQL_STATEMENT_NAME].contains(code)
}

fn is_timeout(code: &SqlState) -> bool {
    [SqlState::QUERY_CANCELED, SqlState::LOCK_NOT_AVAILABLE].contains(code)
}

fn is_unavailable(code: &SqlState) -> bool {
    // Connection exceptions, and insufficient resources (disk, memory, connections).
    ["08", "53"].iter().any(|class| code.code().starts_with(class))
        || [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::DATABASE_DROPPED,
            SqlState::IDLE_SESSION_TIMEOUT,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
            // A primary that became a standby under us.
            SqlState::READ_ONLY_SQL_TRANSACTION,
            SqlState::IO_ERROR,
            SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN,
        ]
        .contains(code)
}
