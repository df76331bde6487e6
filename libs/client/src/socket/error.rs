//! How a connection fails or ends.

use domain::ErrorKind;
use protocol::{CloseCode, DecodeError};

use crate::problem::Problem;

/// Why there is no connection, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// The address is no `ws://` or `wss://` address.
    #[error("not a gateway address: {0}")]
    Address(String),
    /// Nothing answers there.
    #[error("unreachable: {0}")]
    Unreachable(std::io::Error),
    /// TLS could not be set up.
    #[error("TLS: {0}")]
    Tls(String),
    /// The server answered, but with no connection.
    #[error("refused with {status}: {problem}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What the server says.
        problem: Problem,
    },
    /// What answers does not speak WebSocket as it should.
    #[error("handshake: {0}")]
    Handshake(String),
    /// It took too long.
    #[error("no answer in time")]
    Late,
    /// The server closed.
    #[error("closed with {}{reason}", code.map_or_else(|| "no code ".to_owned(), |code| format!("{code} ")))]
    Closed {
        /// The close code, if one was given.
        code: Option<u16>,
        /// The text beside it.
        reason: String,
    },
    /// The connection broke without a close.
    #[error("lost: {0}")]
    Lost(String),
    /// A frame of the server can't be read.
    #[error("bad frame: {0}")]
    BadFrame(#[from] DecodeError),
}

impl SocketError {
    /// The sort of failure.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Address(_) => ErrorKind::Invalid,
            Self::Unreachable(_) | Self::Lost(_) => ErrorKind::Unavailable,
            Self::Late => ErrorKind::Timeout,
            Self::Refused { status: 401, .. } => ErrorKind::Unauthenticated,
            Self::Refused { status: 403, .. } => ErrorKind::Forbidden,
            Self::Refused { status: 429, .. } => ErrorKind::RateLimited,
            Self::Refused { status: 503, .. } => ErrorKind::Unavailable,
            Self::Refused { .. } => ErrorKind::Invalid,
            Self::Closed { .. } if self.is_sign_in_over() => ErrorKind::Unauthenticated,
            Self::Closed { .. } => ErrorKind::Unavailable,
            Self::Tls(_) | Self::Handshake(_) | Self::BadFrame(_) => ErrorKind::Internal,
        }
    }

    /// The close code, if the server closed with one of ours.
    #[must_use]
    pub fn close_code(&self) -> Option<CloseCode> {
        match self {
            Self::Closed { code: Some(code), .. } => CloseCode::from_code(*code),
            _ => None,
        }
    }

    fn is_sign_in_over(&self) -> bool {
        matches!(self.close_code(), Some(CloseCode::SignInFailed | CloseCode::SignInEnded))
    }
}
