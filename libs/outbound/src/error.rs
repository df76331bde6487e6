//! Why there is no answer. Nothing here shows more of a URL than its host.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use domain::{ErrorKind, Invalid};

use crate::resolver::Unresolved;

/// Most characters of what TLS says that are shown.
const SHOWN: usize = 200;

/// Why a request got no answer. The text is fit for whoever named the URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// Not sent, because it may not be.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The name has no address, or nobody takes the connection.
    #[error("{host} can't be reached: {what}")]
    Unreachable {
        /// Whom.
        host: String,
        /// What failed.
        what: &'static str,
    },
    /// It took too long.
    #[error("{host} did not answer within {}", domain::duration::display(*.limit))]
    TimedOut {
        /// Who.
        host: String,
        /// The limit that was hit: that of the request, or that of connecting.
        limit: Duration,
    },
    /// There is no trust: the certificate is not good, or the other end speaks no TLS.
    #[error("no TLS connection to {host}: {problem}")]
    Tls {
        /// With whom.
        host: String,
        /// What TLS says.
        problem: String,
    },
    /// The connection ended before the answer did, or the answer is no HTTP.
    #[error("{host} gave no answer that can be read")]
    Broken {
        /// Who.
        host: String,
    },
}

/// Why a request may not be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The URL itself says so.
    #[error(transparent)]
    Url(Invalid),
    /// The name leads to an address that is not public. Which one is not told: that would be a map of the inside.
    #[error("{host} has addresses that are not public")]
    NotPublic {
        /// The name.
        host: String,
    },
}

/// TLS could not be set up.
#[derive(Debug, Clone, thiserror::Error)]
#[error("requests to the outside need TLS, which can't be set up: {0}")]
pub struct SetupError(String);

impl SetupError {
    pub(crate) fn new(error: &reqwest::Error) -> Self {
        let deepest = chain(error).last().map_or_else(|| error.to_string(), ToString::to_string);
        Self(deepest)
    }
}

impl OutboundError {
    /// What sort of failure this is.
    #[must_use]
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Refused(_) => ErrorKind::Invalid,
            Self::Unreachable { .. } | Self::Tls { .. } | Self::Broken { .. } => ErrorKind::Unavailable,
            Self::TimedOut { .. } => ErrorKind::Timeout,
        }
    }

    /// Whether the same request may get an answer later. The other end may have seen it all the same, but for
    /// what was refused.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }

    /// What a failed exchange with `host` means; `connecting` is the limit of that part.
    pub(crate) fn of(error: &reqwest::Error, host: String, connecting: Duration) -> Self {
        for cause in chain(error) {
            match cause.downcast_ref::<Unresolved>() {
                Some(Unresolved::NotPublic) => return Refusal::NotPublic { host }.into(),
                Some(Unresolved::Unknown) => {
                    return Self::Unreachable { host, what: "there is no such name" };
                }
                None => {}
            }
            if let Some(problem) = cause.downcast_ref::<rustls::Error>() {
                return Self::Tls { host, problem: problem.to_string().chars().take(SHOWN).collect() };
            }
        }
        if error.is_timeout() {
            return Self::TimedOut { host, limit: connecting };
        }
        if error.is_connect() {
            return Self::Unreachable { host, what: "nobody takes the connection" };
        }
        Self::Broken { host }
    }
}

/// An error and all that lies below it. I/O errors wrap others without naming them as their source.
fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| match error.downcast_ref::<io::Error>() {
        Some(wrapping) => wrapping.get_ref().map(|inner| inner as &(dyn StdError + 'static)),
        None => error.source(),
    })
}
