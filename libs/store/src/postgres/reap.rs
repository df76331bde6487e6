//! What is spent: removed in small batches, each statement a transaction of its own, rows that others hold left out.

use std::time::Duration;

use tokio_postgres::Row;

use crate::error::StoreError;
use crate::postgres::Postgres;
use crate::postgres::interval::micros;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::{Statement, statements};
use crate::postgres::transaction::Params;
use crate::retention::Reaped;
use crate::retention::patched::{DOCUMENTS, Patched};

statements! {
    TICKETS = "reap/tickets";
    BUCKETS = "reap/buckets";
    NODES = "reap/nodes";
    SESSIONS = "reap/sessions";
    KEYS = "reap/keys";
    QUESTIONS = "reap/questions";
    PATCHED = "reap/patched";
    FOLD = "reap/fold";
}

impl Postgres {
    /// `Retention::reap`.
    pub(super) async fn reap_spent(
        &self,
        dead_after: Duration,
        sessions_after: Duration,
        batch: u32,
    ) -> Result<Reaped, StoreError> {
        let (most, batch) = (batch, i64::from(batch));
        Ok(Reaped {
            tickets: self.removed(TICKETS, &[&batch]).await?,
            buckets: self.removed(BUCKETS, &[&batch]).await?,
            nodes: self.removed(NODES, &[&batch, &micros(dead_after)]).await?,
            sessions: self.removed(SESSIONS, &[&batch, &micros(sessions_after)]).await?,
            keys: self.removed(KEYS, &[&batch]).await?,
            questions: self.removed(QUESTIONS, &[&batch]).await?,
            documents: self.fold_documents(most).await?,
        })
    }

    async fn removed(&self, statement: &'static Statement, params: Params<'_>) -> Result<u64, StoreError> {
        Ok(self.rows(statement, params).await?.len() as u64)
    }

    /// Makes the documents of runs whole that ended without their holder: their patches would go with a crash. Answers of how many.
    async fn fold_documents(&self, most: u32) -> Result<u64, StoreError> {
        let mut folded = 0;
        for _ in 0..most.div_ceil(DOCUMENTS) {
            let rows = self.rows(PATCHED, &[&i64::from(DOCUMENTS.min(most))]).await?;
            for row in &rows {
                let Patched { run, version, doc, last } = patched(row)?;
                folded += self.removed(FOLD, &[&run, &version, &doc, &last]).await?;
            }
            if rows.len() < DOCUMENTS as usize {
                break;
            }
        }
        Ok(folded)
    }
}

fn patched(row: &Row) -> Result<Patched, Fault> {
    let (versions, ops): (Vec<i64>, Vec<&str>) = (row.value("versions")?, row.value("ops")?);
    Ok(Patched::new(row.value("id")?, row.value("doc_version")?, row.value("doc")?, &versions, &ops))
}
