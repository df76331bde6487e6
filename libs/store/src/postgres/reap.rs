//! What is spent: removed in small batches, each statement a transaction of its own, rows that others hold left out.

use std::time::Duration;

use domain::Invalid;
use domain::document::{Document, parse_ops};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::error::StoreError;
use crate::postgres::Postgres;
use crate::postgres::interval::micros;
use crate::postgres::row::Columns;
use crate::postgres::sqlstate::Fault;
use crate::postgres::statement::{Statement, statements};
use crate::postgres::transaction::Params;
use crate::retention::Reaped;

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

/// Documents that are in memory at one time.
const DOCUMENTS: u32 = 16;

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
                let Patched { run, version, doc, last } = Patched::read(row)?;
                folded += self.removed(FOLD, &[&run, &version, &doc, &last]).await?;
            }
            if rows.len() < DOCUMENTS as usize {
                break;
            }
        }
        Ok(folded)
    }
}

/// The document of a run, and from which snapshot and to which version it was made.
struct Patched {
    run: Uuid,
    version: i64,
    doc: String,
    last: i64,
}

impl Patched {
    /// Patches that do not fit are left out: nobody could show them.
    fn read(row: &Row) -> Result<Self, Fault> {
        let (run, version) = (row.value("id")?, row.value("doc_version")?);
        let (doc, ops): (&str, Vec<&str>) = (row.value("doc")?, row.value("ops")?);
        let last = row.value::<Vec<i64>>("versions")?.last().copied().unwrap_or(version);
        Ok(match replayed(doc, &ops) {
            Ok(doc) => Self { run, version, doc, last },
            Err(error) => {
                tracing::warn!(%run, %error, "patches of a run that is over do not fit its document");
                Self { run, version, doc: doc.to_owned(), last: version }
            }
        })
    }
}

fn replayed(doc: &str, patches: &[&str]) -> Result<String, Invalid> {
    let mut document = Document::parse(doc)?;
    for ops in patches {
        document.replay(&parse_ops(ops)?)?;
    }
    Ok(document.to_json())
}
