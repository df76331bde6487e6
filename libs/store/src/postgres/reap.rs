//! What is spent: removed in small batches, each statement a transaction of its own, rows that others hold left out.

use std::time::Duration;

use crate::error::StoreError;
use crate::postgres::Postgres;
use crate::postgres::interval::micros;
use crate::postgres::statement::{Statement, statements};
use crate::postgres::transaction::Params;
use crate::retention::Reaped;

statements! {
    TICKETS = "reap/tickets";
    BUCKETS = "reap/buckets";
    NODES = "reap/nodes";
    SESSIONS = "reap/sessions";
    KEYS = "reap/keys";
}

impl Postgres {
    /// `Retention::reap`.
    pub(super) async fn reap_spent(
        &self,
        dead_after: Duration,
        sessions_after: Duration,
        batch: u32,
    ) -> Result<Reaped, StoreError> {
        let batch = i64::from(batch);
        Ok(Reaped {
            tickets: self.removed(TICKETS, &[&batch]).await?,
            buckets: self.removed(BUCKETS, &[&batch]).await?,
            nodes: self.removed(NODES, &[&batch, &micros(dead_after)]).await?,
            sessions: self.removed(SESSIONS, &[&batch, &micros(sessions_after)]).await?,
            keys: self.removed(KEYS, &[&batch]).await?,
        })
    }

    async fn removed(&self, statement: &'static Statement, params: Params<'_>) -> Result<u64, StoreError> {
        Ok(self.rows(statement, params).await?.len() as u64)
    }
}
