//! What can go wrong in the store.

use domain::{ErrorCode, ErrorKind, Invalid};

/// A refusal by a rule of the domain, found by the guard in the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// There is no such thing, or the caller is no member and may not know of it.
    NotFound(&'static str),
    /// The caller may know of it, but not do this.
    Forbidden,
    /// The handle is taken.
    HandleTaken,
    /// The message was deleted.
    MessageDeleted,
    /// The nonce or idempotency key was used for something else.
    NonceReused,
    /// The state does not allow it; the text says why.
    Conflict(&'static str),
    /// A value is out of range for what is stored: field and what is allowed.
    Invalid(&'static str, &'static str),
}

/// Why an operation of the store did not succeed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// A rule of the domain said no; nothing was written.
    #[error("refused: {0:?}")]
    Refused(Refusal),
    /// The database does not answer, or the connection broke. A write may or may not have happened:
    /// repeat it with the same id or nonce.
    #[error("the database is not available: {0}")]
    Unavailable(String),
    /// The statement took longer than it may and was ended.
    #[error("the database took too long: {0}")]
    Timeout(String),
    /// A setting of the database is not good; nothing was opened.
    #[error("{0}")]
    Settings(Invalid),
    /// The database lacks migrations, or has those of another release. The text says what to do.
    #[error("{0}")]
    Schema(String),
    /// The user of the database may not do this; the text is for logs alone.
    #[error("the database does not let its user do this: {0}")]
    Denied(String),
    /// The database answered in a way that it never should; the text is for logs alone.
    #[error("store fault: {0}")]
    Internal(String),
}

impl StoreError {
    /// What sort of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.code().kind()
    }

    /// The stable name that clients see.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(refusal) => match refusal {
                Refusal::NotFound(_) => ErrorCode::NotFound,
                Refusal::Forbidden => ErrorCode::Forbidden,
                Refusal::HandleTaken => ErrorCode::HandleTaken,
                Refusal::MessageDeleted => ErrorCode::MessageDeleted,
                Refusal::NonceReused => ErrorCode::NonceReused,
                Refusal::Conflict(_) => ErrorCode::Conflict,
                Refusal::Invalid(..) => ErrorCode::InvalidField,
            },
            Self::Unavailable(_) => ErrorCode::Unavailable,
            Self::Timeout(_) => ErrorCode::Timeout,
            Self::Settings(_) | Self::Schema(_) | Self::Denied(_) | Self::Internal(_) => ErrorCode::Internal,
        }
    }

    /// What a client may read. Text of the database never leaves.
    #[must_use]
    pub fn public_message(&self) -> String {
        match self {
            Self::Refused(refusal) => refusal.public_message(),
            Self::Unavailable(_) => "the database does not answer; try again".into(),
            Self::Timeout(_) => "the database took too long; try again".into(),
            Self::Settings(_) | Self::Schema(_) | Self::Denied(_) | Self::Internal(_) => {
                "a fault of the server".into()
            }
        }
    }
}

impl Refusal {
    /// What a client may read.
    #[must_use]
    pub fn public_message(&self) -> String {
        match self {
            Self::NotFound(what) => format!("there is no such {what}, or you may not see it"),
            Self::Forbidden => "you may not do this".into(),
            Self::HandleTaken => "this handle is taken; choose another".into(),
            Self::MessageDeleted => "this message was deleted".into(),
            Self::NonceReused => "this nonce was used for another call; use a fresh one for each".into(),
            Self::Conflict(why) => (*why).into(),
            Self::Invalid(field, allowed) => format!("{field} is out of range; allowed is {allowed}"),
        }
    }
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Invalid> for StoreError {
    fn from(invalid: Invalid) -> Self {
        Self::Settings(invalid)
    }
}
