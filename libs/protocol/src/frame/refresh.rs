//! Access tokens that end while a connection lives.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The client presents a newer access token of the same sign-in; answered by `refreshed` or `error`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refresh {
    /// The token.
    pub access_token: String,
}

/// Without the token: frames get into logs.
impl fmt::Debug for Refresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Refresh").finish_non_exhaustive()
    }
}

/// The access token of the connection is past its time; without a newer one it is closed with 4014.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefreshAsked {
    /// How long the connection stays.
    pub within_ms: u64,
}

/// The answer to a client's `refresh`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refreshed {
    /// How long the token that was presented is good.
    pub expires_in_ms: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_shown() {
        let shown = format!("{:?}", Refresh { access_token: "eyJ0".to_owned() });
        assert!(!shown.contains("eyJ0"), "{shown}");
    }
}
