//! Random secrets that clients hold and we keep only as hashes: refresh tokens, tickets, tokens of agents, addresses of hooks.
//!
//! They carry as many random bits as they have, so a plain SHA-256 is enough: there is nothing to guess.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rand::TryRngCore as _;
use rand::rngs::OsRng;
use sha2::{Digest as _, Sha256};
use store::sessions::SecretHash;

use crate::error::AuthError;

/// A secret on its way to the client. Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A refresh token: 256 bits of the operating system's randomness, base64url.
    ///
    /// # Errors
    ///
    /// When the operating system gives no randomness.
    pub fn refresh_token() -> Result<Self, AuthError> {
        let mut bytes = [0_u8; 32];
        fill(&mut bytes)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// A token of an agent: like a refresh token, behind [`crate::agents::PREFIX`].
    ///
    /// # Errors
    ///
    /// When the operating system gives no randomness.
    pub fn agent_token() -> Result<Self, AuthError> {
        Ok(Self(format!("{}{}", crate::agents::PREFIX, Self::refresh_token()?.0)))
    }

    /// What the address of a hook ends in: like a refresh token, and good to stand in a path.
    ///
    /// # Errors
    ///
    /// When the operating system gives no randomness.
    pub fn hook() -> Result<Self, AuthError> {
        Self::refresh_token()
    }

    /// A ticket: 128 bits of the operating system's randomness, 32 hex digits.
    ///
    /// # Errors
    ///
    /// When the operating system gives no randomness.
    pub fn ticket() -> Result<Self, AuthError> {
        let mut bytes = [0_u8; 16];
        fill(&mut bytes)?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }

    /// A text that is to be handled as a secret from here on.
    pub(crate) const fn of(text: String) -> Self {
        Self(text)
    }

    /// What is stored of it.
    #[must_use]
    pub fn hash(&self) -> SecretHash {
        hash(&self.0)
    }

    /// The text that the client is given.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Gives the text away.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(...)")
    }
}

/// SHA-256 of a secret that a client showed.
#[must_use]
pub fn hash(secret: &str) -> SecretHash {
    Sha256::digest(secret.as_bytes()).into()
}

pub(crate) fn fill(bytes: &mut [u8]) -> Result<(), AuthError> {
    OsRng.try_fill_bytes(bytes).map_err(|error| AuthError::Internal(format!("no randomness: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_long_distinct_and_not_shown() {
        let ticket = Secret::ticket().expect("randomness");
        assert!(ticket.reveal().len() == 32 && ticket.reveal().bytes().all(|b| b.is_ascii_hexdigit()));
        let token = Secret::refresh_token().expect("randomness");
        assert_eq!(token.reveal().len(), 43);
        assert_ne!(token, Secret::refresh_token().expect("randomness"));
        assert!(!format!("{token:?}").contains(token.reveal()));
        assert_eq!(token.hash(), hash(token.reveal()));
        assert_ne!(token.hash(), ticket.hash());
    }
}
