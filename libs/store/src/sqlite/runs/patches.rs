//! Flushes: what the holder of a run adds to its document.

use domain::RunId;

use super::{ADD_PATCH, DROP_PATCHES, HAS_PATCH, HOLDS, PATCH, SAME_PATCH};
use crate::number::bigint;
use crate::runs::rules::KEPT_PATCHES;
use crate::runs::{Holder, Patch, PatchOutcome};
use crate::sqlite::fault::Fault;
use crate::sqlite::row::Columns;
use crate::sqlite::transaction::Tx;

/// Flushes one run.
pub(super) fn flush(tx: &Tx<'_>, patch: &Patch) -> Result<PatchOutcome, Fault> {
    let Patch { holder: Holder { run, session, epoch }, base, ops, snapshot } = patch;
    let epoch = bigint(*epoch);
    let held = tx.row(HOLDS, &[&run.0, &session.0, &epoch], |row| {
        Ok((row.count("version")?, row.count("doc_version")?))
    })?;
    let Some((version, doc_version)) = held else { return Ok(PatchOutcome::Lost) };
    let follows = version == *base
        && (snapshot.is_some()
            || doc_version == *base
            || tx.exists(HAS_PATCH, &[&run.0, &bigint(version)])?);
    if !follows {
        // It stands already: the answer was lost.
        if base.checked_add(1) == Some(version)
            && tx.exists(SAME_PATCH, &[&run.0, &bigint(version), &epoch, ops])?
        {
            return Ok(PatchOutcome::Written(version));
        }
        if snapshot.is_none() {
            return Ok(PatchOutcome::Emptied);
        }
    }
    let next = version.max(*base).saturating_add(1);
    tx.execute(PATCH, &[&run.0, &bigint(next), snapshot])?;
    // No patch leads to a snapshot that does not follow on what stands.
    if follows {
        tx.execute(ADD_PATCH, &[&run.0, &bigint(next), &epoch, ops])?;
    }
    if snapshot.is_some() {
        drop_before(tx, *run, next.saturating_sub(KEPT_PATCHES.into()))?;
    }
    Ok(PatchOutcome::Written(next))
}

/// Removes the patches of a run that lead to versions before this one.
pub(super) fn drop_before(tx: &Tx<'_>, run: RunId, version: u64) -> Result<(), Fault> {
    tx.execute(DROP_PATCHES, &[&run.0, &bigint(version)])?;
    Ok(())
}
