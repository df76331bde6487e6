//! How a model fails.

use std::time::Duration;

/// Why there is no answer of a model. Shown to people in the room: no key, no address, and no more of what a server said
/// than helps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The server answered with a status that is no answer.
    #[error("the model's server {}", refusal(*.status, .message))]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it says; empty where that may quote the key.
        message: String,
        /// When to come back.
        retry_after: Option<Duration>,
    },
    /// There is no connection.
    #[error("the model's server can't be reached")]
    Unreachable,
    /// Nothing came for so long.
    #[error("the model said nothing for {} seconds", .0.as_secs_f32())]
    Stalled(Duration),
    /// The connection ended before the answer did.
    #[error("the model's answer was cut off")]
    Cut,
    /// What came is no answer.
    #[error("the model's server said what can't be read: {0}")]
    Unreadable(String),
    /// The server said within its answer that it failed.
    #[error("the model failed: {0}")]
    Failed(String),
    /// The server took the answer back, such as for its content.
    #[error("the model's server stopped the answer ({0})")]
    Stopped(String),
    /// The answer has nothing in it.
    #[error("the model gave no answer")]
    Empty,
    /// It calls tools again and again.
    #[error("the model called tools {0} times in a row and did not answer")]
    TooManyRounds(usize),
}

fn refusal(status: u16, message: &str) -> String {
    let words = match status {
        401 => "does not accept the key (401)".to_owned(),
        403 => "does not allow this with this key (403)".to_owned(),
        404 => "knows no such model, or the base URL is wrong (404)".to_owned(),
        413 => "finds the conversation too large (413)".to_owned(),
        429 => "is asked too often, or the quota is used up (429)".to_owned(),
        500.. => format!("is in trouble ({status})"),
        _ => format!("refuses the request ({status})"),
    };
    if message.is_empty() { words } else { format!("{words}: {message}") }
}

impl ModelError {
    /// Whether the same request may be answered later.
    #[must_use]
    pub const fn is_for_now(&self) -> bool {
        match self {
            Self::Refused { status, .. } => matches!(*status, 408 | 409 | 429 | 500..),
            Self::Unreachable | Self::Stalled(_) | Self::Cut => true,
            _ => false,
        }
    }

    /// How long the server wants to be left alone.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
