//! The end of a run by its holder.

use domain::run::Reason;
use domain::{Event, FinishStatus, Sender};

use super::moves::leave;
use super::patches::drop_before;
use super::read::{locked_run, the_run};
use super::{FINISH, OWN};
use crate::number::bigint;
use crate::runs::rules::{Found, NO_RUN};
use crate::runs::{FinishRun, Run};
use crate::sqlite::append::append_all;
use crate::sqlite::fault::Fault;
use crate::sqlite::transaction::Tx;

/// Ends a run.
pub(super) fn finish(
    tx: &Tx<'_>,
    finish: &FinishRun,
    status: FinishStatus,
) -> Result<(Run, Vec<Event>), Fault> {
    let (id, holder) = (finish.holder.run, finish.holder.session);
    let run = locked_run(tx, id)?.ok_or(NO_RUN)?;
    let own = tx.exists(OWN, &[&holder.0, &id.0])?;
    let Found::Held(to) = run.finished(finish, status, own)? else {
        return Ok((the_run(tx, id)?, Vec::new()));
    };
    let ended = tx.execute(
        FINISH,
        &[
            &id.0,
            &holder.0,
            &bigint(run.epoch),
            &to.status.as_str(),
            &to.reason.map(Reason::as_str),
            &finish.error,
            &bigint(finish.base),
            &finish.doc,
            &tx.micros(),
        ],
    )?;
    if ended != 1 {
        return Err(Fault::internal("a run moved in the transaction that looked at it"));
    }
    drop_before(tx, id, u64::MAX)?;
    let drafts = leave(tx, &[(&run, to.status)], Sender::Agent(run.agent))?;
    let events = append_all(tx, &drafts)?;
    Ok((the_run(tx, id)?, events))
}
