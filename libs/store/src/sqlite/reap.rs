//! What is spent: removed in small batches, each a transaction of its own.

use std::time::Duration;

use rusqlite::Row;

use super::Sqlite;
use super::fault::Fault;
use super::row::Columns;
use super::statement::{Statement, statements};
use crate::error::StoreError;
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
    DROP_PATCHES = "reap/drop_patches";
}

const HOUR: Duration = Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(86_400);

impl Sqlite {
    /// `Retention::reap`.
    pub(super) async fn reap_spent(
        &self,
        dead_after: Duration,
        sessions_after: Duration,
        batch: u32,
    ) -> Result<Reaped, StoreError> {
        Ok(Reaped {
            tickets: self.removed(TICKETS, batch, Duration::ZERO).await?,
            buckets: self.removed(BUCKETS, batch, Duration::ZERO).await?,
            nodes: self.removed(NODES, batch, dead_after).await?,
            sessions: self.removed(SESSIONS, batch, sessions_after).await?,
            keys: self.removed(KEYS, batch, DAY).await?,
            questions: self.removed(QUESTIONS, batch, HOUR).await?,
            documents: self.fold_documents(batch).await?,
        })
    }

    /// Removes at most `batch` rows whose time is so long ago.
    async fn removed(
        &self,
        statement: &'static Statement,
        batch: u32,
        ago: Duration,
    ) -> Result<u64, StoreError> {
        Ok(self.write(move |tx| tx.execute(statement, &[&batch, &tx.before(ago)])).await? as u64)
    }

    /// Makes the documents of runs whole that ended without their holder: their patches would go with a crash. Answers of how many.
    async fn fold_documents(&self, most: u32) -> Result<u64, StoreError> {
        let mut folded = 0;
        for _ in 0..most.div_ceil(DOCUMENTS) {
            let found = self.read(move |tx| tx.rows(PATCHED, &[&DOCUMENTS.min(most)], patched)).await?;
            let all = found.len() < DOCUMENTS as usize;
            folded += self.fold(found).await?;
            if all {
                break;
            }
        }
        Ok(folded)
    }

    async fn fold(&self, documents: Vec<Patched>) -> Result<u64, StoreError> {
        if documents.is_empty() {
            return Ok(0);
        }
        self.write(move |tx| {
            let mut folded = 0;
            for Patched { run, version, doc, last } in &documents {
                if tx.execute(FOLD, &[run, version, doc, last])? > 0 {
                    tx.execute(DROP_PATCHES, &[run])?;
                    folded += 1;
                }
            }
            Ok(folded)
        })
        .await
    }
}

fn patched(row: &Row<'_>) -> Result<Patched, Fault> {
    let broken = |error| Fault::internal(format!("patches of a run can't be read: {error}"));
    let versions: Vec<i64> = serde_json::from_str(row.text("versions")?).map_err(broken)?;
    let ops: Vec<String> = serde_json::from_str(row.text("ops")?).map_err(broken)?;
    Ok(Patched::new(row.value("id")?, row.value("doc_version")?, row.text("doc")?, &versions, &ops))
}
