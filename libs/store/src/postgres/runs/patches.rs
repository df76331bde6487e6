//! Flushes: the one write to runs that needs no lock of a stream.
//!
//! The rows are locked first, in the order of their ids; the next statement so sees what a flush that went before has
//! written, even one whose answer was lost and that is still under way.

use std::collections::HashSet;

use tokio_postgres::Row;
use uuid::Uuid;

use super::{LOCK, PATCH};
use crate::error::StoreError;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::sqlstate::Fault;
use crate::postgres::{Postgres, repeated};
use crate::runs::rules::KEPT_PATCHES;
use crate::runs::{Patch, PatchOutcome};

impl Postgres {
    pub(super) async fn flush(&self, patches: &[Patch]) -> Result<Vec<PatchOutcome>, StoreError> {
        let mut outcomes = Vec::with_capacity(patches.len());
        while outcomes.len() < patches.len() {
            let batch = distinct(&patches[outcomes.len()..]);
            let written: Vec<PatchOutcome> = repeated!(self.try_flush(batch))?;
            outcomes.extend(written);
        }
        Ok(outcomes)
    }

    async fn try_flush(&self, patches: &[Patch]) -> Result<Vec<PatchOutcome>, Fault> {
        let runs: Vec<Uuid> = patches.iter().map(|patch| patch.holder.run.0).collect();
        let sessions: Vec<Uuid> = patches.iter().map(|patch| patch.holder.session.0).collect();
        let epochs: Vec<i64> = patches.iter().map(|patch| bigint(patch.holder.epoch)).collect();
        let bases: Vec<i64> = patches.iter().map(|patch| bigint(patch.base)).collect();
        let ops: Vec<&str> = patches.iter().map(|patch| &*patch.ops).collect();
        let snapshots: Vec<Option<&str>> = patches.iter().map(|patch| patch.snapshot.as_deref()).collect();
        let [_, verdicts] = self
            .session()
            .await?
            .transact([
                (LOCK, &[&runs]),
                (PATCH, &[&runs, &sessions, &epochs, &bases, &ops, &snapshots, &i64::from(KEPT_PATCHES)]),
            ])
            .await?;
        if verdicts.len() != patches.len() {
            return Err(Fault::internal("another number of verdicts than of flushes"));
        }
        verdicts.iter().map(outcome).collect()
    }
}

/// As many from the first as there are before a run comes again.
fn distinct(patches: &[Patch]) -> &[Patch] {
    let mut runs = HashSet::with_capacity(patches.len());
    let count = patches.iter().take_while(|patch| runs.insert(patch.holder.run)).count();
    &patches[..count]
}

fn outcome(row: &Row) -> Result<PatchOutcome, Fault> {
    match row.value("verdict")? {
        "follows" | "whole" | "repeated" => Ok(PatchOutcome::Written(row.count("version")?)),
        "emptied" => Ok(PatchOutcome::Emptied),
        "lost" => Ok(PatchOutcome::Lost),
        other => Err(Fault::internal(format!("runs/patch gave verdict {other:?}"))),
    }
}
