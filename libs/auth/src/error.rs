//! What can go wrong when somebody signs in or proves who they are.

use std::time::Duration;

use domain::{ErrorCode, ErrorKind, Invalid};
use jiff::Timestamp;
use store::{Refusal, StoreError};

use crate::keys::files::FileFault;
use crate::keys::manifest::KeyRefusal;

/// Why somebody is not let in.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AuthError {
    /// A field of the request is not allowed.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// No credentials, or they are not good; the text is for logs.
    #[error("not signed in: {0}")]
    Unauthenticated(&'static str),
    /// Handle or password is wrong; which of them is not told.
    #[error("handle or password is wrong")]
    BadCredentials,
    /// The access token is past its time.
    #[error("the access token is past its time")]
    TokenExpired,
    /// The sign-in was ended.
    #[error("the sign-in was ended")]
    SessionRevoked,
    /// A refresh token was used a second time.
    #[error("a refresh token was used a second time")]
    RefreshReused,
    /// The ticket is unknown, used or past its time.
    #[error("the ticket is unknown, used or past its time")]
    BadTicket,
    /// Too many failed sign-ins.
    #[error("the account is locked until {until}")]
    Locked {
        /// When the next sign-in may be tried, by the database's clock.
        until: Timestamp,
    },
    /// The account is disabled.
    #[error("the account is disabled")]
    Disabled,
    /// Registration is not open.
    #[error("registration is closed")]
    RegistrationClosed,
    /// Too much at once.
    #[error("limited, again in {retry_after:?}")]
    RateLimited {
        /// When it works again.
        retry_after: Duration,
    },
    /// The store said no, or does not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The key store is not as it must be, or does not answer; the text names the file and the fix, and is for the
    /// operator's eyes.
    #[error("signing keys: {0}")]
    Keys(String),
    /// The rules of signing keys do not allow it.
    #[error(transparent)]
    KeyRefused(#[from] KeyRefusal),
    /// A fault of ours; the text is for logs.
    #[error("sign-in fault: {0}")]
    Internal(String),
}

impl AuthError {
    /// What sort of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.code().kind()
    }

    /// The stable name that clients see.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid(_) => ErrorCode::InvalidField,
            Self::Unauthenticated(_) => ErrorCode::Unauthenticated,
            Self::BadCredentials => ErrorCode::BadCredentials,
            Self::TokenExpired => ErrorCode::TokenExpired,
            Self::SessionRevoked => ErrorCode::SessionRevoked,
            Self::RefreshReused => ErrorCode::RefreshReused,
            Self::BadTicket => ErrorCode::BadTicket,
            Self::Locked { .. } => ErrorCode::Locked,
            Self::Disabled => ErrorCode::Disabled,
            Self::RegistrationClosed => ErrorCode::RegistrationClosed,
            Self::RateLimited { .. } => ErrorCode::RateLimited,
            Self::Store(error) => error.code(),
            Self::Keys(_) => ErrorCode::Unavailable,
            Self::KeyRefused(KeyRefusal::Unknown(_)) => ErrorCode::NotFound,
            Self::KeyRefused(_) => ErrorCode::Conflict,
            Self::Internal(_) => ErrorCode::Internal,
        }
    }

    /// What a client may read.
    #[must_use]
    pub fn public_message(&self) -> String {
        match self {
            Self::Invalid(invalid) => invalid.to_string(),
            Self::Unauthenticated(_) => {
                "sign in first: send a good access token as `Authorization: Bearer ...`".into()
            }
            Self::BadCredentials => "handle or password is wrong".into(),
            Self::TokenExpired => "the access token is past its time; refresh it".into(),
            Self::SessionRevoked => "this sign-in was ended; log in again".into(),
            Self::RefreshReused => {
                "this refresh token was used before, so its whole sign-in was ended; log in again".into()
            }
            Self::BadTicket => "the ticket is unknown, used or past its time; get a fresh one".into(),
            Self::Locked { until } => {
                format!("too many failed sign-ins; the account is locked until {until}")
            }
            Self::Disabled => "this account is disabled".into(),
            Self::RegistrationClosed => "registration is closed here; ask an administrator".into(),
            Self::RateLimited { .. } => "too many requests; wait and try again".into(),
            Self::Store(error) => error.public_message(),
            Self::Keys(_) => "this node can't use the signing keys, its log says why; try again".into(),
            Self::KeyRefused(refusal) => refusal.to_string(),
            Self::Internal(_) => "a fault of the server".into(),
        }
    }

    /// After what time the same call may work, where that is known.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } => Some(*retry_after),
            _ => None,
        }
    }
}

impl From<Refusal> for AuthError {
    fn from(refusal: Refusal) -> Self {
        Self::Store(refusal.into())
    }
}

impl From<prometheus::Error> for AuthError {
    fn from(error: prometheus::Error) -> Self {
        Self::Internal(format!("metrics: {error}"))
    }
}

impl From<FileFault> for AuthError {
    fn from(fault: FileFault) -> Self {
        Self::Keys(fault.to_string())
    }
}
