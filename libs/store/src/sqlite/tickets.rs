//! Tickets: the [`Tickets`] of SQLite.

use std::time::Duration;

use async_trait::async_trait;
use domain::{AuthSessionId, UserId};
use jiff::Timestamp;

use super::Sqlite;
use super::row::Columns;
use super::statement::statements;
use super::value::Micros;
use crate::error::{Refusal, StoreError};
use crate::sessions::SecretHash;
use crate::tickets::{TicketClaims, Tickets};

statements! {
    ISSUE = "tickets/issue";
    CONSUME = "tickets/consume";
}

#[async_trait]
impl Tickets for Sqlite {
    async fn issue_ticket(
        &self,
        hash: &SecretHash,
        claims: TicketClaims,
        ttl: Duration,
    ) -> Result<Timestamp, StoreError> {
        let hash = *hash;
        self.write(move |tx| {
            let (expires, token_expires) = (tx.after(ttl), claims.token_expires_at.map(Micros));
            tx.row(ISSUE, &[&hash, &claims.user.0, &claims.session.0, &expires, &token_expires], |row| {
                row.time("expires_at")
            })?
            .ok_or_else(|| Refusal::Forbidden.into())
        })
        .await
    }

    async fn consume_ticket(&self, hash: &SecretHash) -> Result<Option<TicketClaims>, StoreError> {
        let hash = *hash;
        self.write(move |tx| {
            tx.row(CONSUME, &[&hash, &tx.micros()], |row| {
                Ok(TicketClaims {
                    user: UserId(row.value("user_id")?),
                    session: AuthSessionId(row.value("session_id")?),
                    token_expires_at: row.time_if_any("token_expires_at")?,
                })
            })
        })
        .await
    }
}
