//! Tokens of agents.
//!
//! An agent signs in by one long-lived token, `swa_` and 43 characters of base64url: 256 random bits, of which only the
//! SHA-256 is kept. It is good until it is rotated or the agent revoked, and while the owner of the agent may sign in. That is
//! asked of the store each time: an agent is called seldom, and nothing has to be told to nodes for it to end.

use domain::AuthSessionId;
use store::agents::AgentToken;

use crate::error::AuthError;
use crate::secret::Secret;

/// What tokens of agents begin with: scanners for leaked secrets find them by it.
pub const PREFIX: &str = "swa_";

/// A token that is to be given to an agent.
#[derive(Debug, Clone)]
pub struct NewAgentToken {
    /// For the client, shown this once.
    pub secret: Secret,
    /// What is kept of it.
    pub kept: AgentToken,
}

impl NewAgentToken {
    /// A fresh one, with an id of its own.
    ///
    /// # Errors
    ///
    /// When the operating system gives no randomness.
    pub fn generate() -> Result<Self, AuthError> {
        let secret = Secret::agent_token()?;
        let kept = AgentToken { id: AuthSessionId::new(), hash: secret.hash() };
        Ok(Self { secret, kept })
    }
}

/// Whether a bearer token is meant to be one of an agent's: access tokens begin otherwise.
pub(crate) fn is_one(token: &str) -> bool {
    token.starts_with(PREFIX)
}

/// Whether it can be one: what can't is no reason for a query.
pub(crate) fn is_plausible(token: &str) -> bool {
    token.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == 43 && rest.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_told_by_their_beginning_and_not_shown() {
        let token = NewAgentToken::generate().expect("randomness");
        let text = token.secret.reveal();
        assert!(is_one(text) && is_plausible(text) && text.len() == 47, "{}", text.len());
        assert_eq!(token.kept.hash, crate::secret::hash(text));
        assert!(!format!("{token:?}").contains(text));
        assert_ne!(text, NewAgentToken::generate().expect("randomness").secret.reveal());
        for bad in ["swa_", "swa_short", &format!("{text}a"), &text.replace("swa_", "swb_"), &text[..46]] {
            assert!(!is_plausible(bad), "{bad}");
        }
        assert!(!is_plausible(&format!("swa_{}", "\u{e9}".repeat(22))) && !is_one("eyJhbGciOi"));
    }
}
