//! How a call fails.

use std::time::Duration;

use domain::ErrorKind;
use reqwest::StatusCode;

use crate::problem::Problem;

/// Why a call has no answer that is good.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The address of the API is none.
    #[error("not an address: {0}")]
    Address(String),
    /// The server refuses.
    #[error("{status}: {problem}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What the server says.
        problem: Problem,
        /// When to come back.
        retry_after: Option<Duration>,
    },
    /// No answer, or only a part of one.
    #[error("no answer: {0}")]
    Transport(String),
    /// The answer is not of the shape that was expected.
    #[error("answer with {status} can't be read: {reason}")]
    Unreadable {
        /// The HTTP status.
        status: u16,
        /// What is wrong with it.
        reason: String,
    },
}

impl ApiError {
    /// The HTTP status, if there was an answer.
    #[must_use]
    pub const fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } | Self::Unreadable { status, .. } => Some(*status),
            Self::Address(_) | Self::Transport(_) => None,
        }
    }

    /// The code of the problem; empty if there is none.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Refused { problem, .. } => &problem.code,
            _ => "",
        }
    }

    /// The sort of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        let Self::Refused { status, .. } = self else {
            return match self {
                Self::Address(_) => ErrorKind::Invalid,
                Self::Transport(_) => ErrorKind::Unavailable,
                Self::Refused { .. } | Self::Unreadable { .. } => ErrorKind::Internal,
            };
        };
        match *status {
            401 => ErrorKind::Unauthenticated,
            403 => ErrorKind::Forbidden,
            404 => ErrorKind::NotFound,
            408 | 504 => ErrorKind::Timeout,
            409 => ErrorKind::Conflict,
            413 => ErrorKind::TooLarge,
            423 => ErrorKind::Locked,
            429 => ErrorKind::RateLimited,
            502 | 503 => ErrorKind::Unavailable,
            500.. => ErrorKind::Internal,
            _ => ErrorKind::Invalid,
        }
    }

    /// Without the address, which may hold secrets.
    pub(super) fn transport(error: reqwest::Error) -> Self {
        let error = error.without_url();
        // The cause says "connection refused", the error itself only "error sending request".
        let cause = std::iter::successors(std::error::Error::source(&error), |cause| cause.source()).last();
        Self::Transport(cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}")))
    }

    pub(super) fn refused(status: StatusCode, retry_after: Option<Duration>, body: &[u8]) -> Self {
        Self::Refused { status: status.as_u16(), problem: Problem::read(body), retry_after }
    }
}
