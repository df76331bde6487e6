//! Tickets: the [`Tickets`] of PostgreSQL.

use std::time::Duration;

use async_trait::async_trait;
use domain::{AuthSessionId, UserId};
use jiff::Timestamp;

use crate::error::{Refusal, StoreError};
use crate::postgres::Postgres;
use crate::postgres::interval::micros;
use crate::postgres::row::Columns;
use crate::postgres::statement::statements;
use crate::sessions::SecretHash;
use crate::tickets::{TicketClaims, Tickets};

statements! {
    ISSUE = "tickets/issue";
    CONSUME = "tickets/consume";
}

#[async_trait]
impl Tickets for Postgres {
    async fn issue_ticket(
        &self,
        hash: &SecretHash,
        claims: TicketClaims,
        ttl: Duration,
    ) -> Result<Timestamp, StoreError> {
        let row = self
            .row(
                ISSUE,
                &[
                    &hash.as_slice(),
                    &claims.user.0,
                    &claims.session.0,
                    &micros(ttl),
                    &claims.token_expires_at,
                ],
            )
            .await?
            .ok_or(Refusal::Forbidden)?;
        Ok(row.value("expires_at")?)
    }

    async fn consume_ticket(&self, hash: &SecretHash) -> Result<Option<TicketClaims>, StoreError> {
        let Some(row) = self.row(CONSUME, &[&hash.as_slice()]).await? else { return Ok(None) };
        Ok(Some(TicketClaims {
            user: UserId(row.value("user_id")?),
            session: AuthSessionId(row.value("session_id")?),
            token_expires_at: row.value("token_expires_at")?,
        }))
    }
}
