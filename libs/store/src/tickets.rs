//! Tickets: one-use sign-ins for sockets, good on every node.

use std::time::Duration;

use async_trait::async_trait;
use domain::{AuthSessionId, UserId};
use jiff::Timestamp;

use crate::error::StoreError;
use crate::sessions::SecretHash;

/// Whom a ticket lets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TicketClaims {
    /// Who.
    pub user: UserId,
    /// The sign-in it was made from.
    pub session: AuthSessionId,
    /// When the access token ends that it was made with; none in tickets of a release that did not know.
    pub token_expires_at: Option<Timestamp>,
}

/// Tickets.
#[async_trait]
pub trait Tickets {
    /// Stores a ticket by its hash; answers when it ends, by the database's clock.
    ///
    /// # Errors
    ///
    /// `Forbidden` when the sign-in was ended.
    async fn issue_ticket(
        &self,
        hash: &SecretHash,
        claims: TicketClaims,
        ttl: Duration,
    ) -> Result<Timestamp, StoreError>;

    /// Uses a ticket up in one statement: of any number of calls on any nodes one gets the claims.
    /// None when it is unknown, used, past its time, or its sign-in was ended.
    async fn consume_ticket(&self, hash: &SecretHash) -> Result<Option<TicketClaims>, StoreError>;
}
