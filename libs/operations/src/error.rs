//! Why an operation did not succeed.

use auth::SignatureError;
use domain::{ErrorCode, ErrorKind, Invalid};
use store::{Refusal, StoreError};

/// Why an operation did not succeed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// A value is not allowed.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The store refused it or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A call of a hook that is not signed as it should be.
    #[error(transparent)]
    Signature(#[from] SignatureError),
    /// This node is stopping and takes no more writes.
    #[error("the node is stopping")]
    Stopping,
}

impl Error {
    /// What sort of failure this is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        self.code().kind()
    }

    /// The stable name that clients see.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(_) => ErrorCode::InvalidField,
            Self::Store(error) => error.code(),
            Self::Signature(_) => ErrorCode::BadSignature,
            Self::Stopping => ErrorCode::Unavailable,
        }
    }

    /// What a client may read.
    #[must_use]
    pub fn public_message(&self) -> String {
        match self {
            Self::Invalid(invalid) => invalid.to_string(),
            Self::Store(error) => error.public_message(),
            Self::Signature(error) => error.to_string(),
            Self::Stopping => "this node is stopping; try again on another".into(),
        }
    }

    /// The field that is wrong, if one is.
    #[must_use]
    pub const fn field(&self) -> Option<&'static str> {
        match self {
            Self::Invalid(invalid) => Some(invalid.field),
            Self::Store(StoreError::Refused(Refusal::Invalid(field, _))) => Some(field),
            _ => None,
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Store(refusal.into())
    }
}
