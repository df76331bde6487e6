//! What is known of a signing key beside its private part. Its state is no field: it is drawn from the times by `auth`'s rules.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A key that access tokens are, were or will be signed with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SigningKey {
    /// Its id, the `kid` of tokens.
    pub kid: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it signs, until a later one does.
    pub signs_from: Timestamp,
    /// It was taken out before it signed.
    #[serde(default)]
    pub withdrawn: bool,
    /// Since when it signs no more, as somebody noted who saw it so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<Timestamp>,
    /// The longest that a token signed with it can be good.
    #[serde(with = "crate::duration")]
    pub token_life: Duration,
    /// Who made it: a node, or whoever gave a command.
    pub made_by: String,
}
