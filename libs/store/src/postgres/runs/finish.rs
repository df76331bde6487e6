//! The end of a run by its holder.

use domain::run::{Change, Reason};
use domain::{Event, FinishStatus, RunStatus, Sender};
use tokio_postgres::Row;

use super::locked::LockedRun;
use super::{FINISH, LOCK, NO_RUN, OWN, READ, read};
use crate::error::Refusal;
use crate::postgres::Postgres;
use crate::postgres::append;
use crate::postgres::row::bigint;
use crate::postgres::sqlstate::Fault;
use crate::postgres::transaction::Params;
use crate::runs::{FinishRun, Run};

/// How a holder may end its run.
pub(super) fn status(status: RunStatus) -> Result<FinishStatus, Refusal> {
    const ALLOWED: Refusal = Refusal::Invalid("status", "succeeded, failed or cancelled");
    status.as_str().parse().map_err(|_| ALLOWED)
}

/// What a finishing call finds.
enum Found {
    Held(domain::run::Standing),
    /// This execution came to this end before: the answer was lost.
    Ended,
}

impl Postgres {
    pub(super) async fn try_finish(
        &self,
        finish: &FinishRun,
        status: FinishStatus,
    ) -> Result<(Run, Vec<Event>), Fault> {
        let (id, holder) = ([finish.holder.run.0], finish.holder.session.0);
        let (asked, epoch, base) = (id.as_slice(), bigint(finish.holder.epoch), bigint(finish.base));
        let session = self.session().await?;
        let streams = session.streams_of(asked).await?;
        let (transaction, [_, locked, own]) = session
            .begin([(append::LOCK, &[&streams]), (LOCK, &[&asked]), (OWN, &[&holder, &asked[0]])])
            .await?;
        let judged = judge(finish, status, &locked, &own);
        let (transaction, (run, found)) = transaction.decided(judged).await?;
        let Found::Held(to) = found else {
            let [rows] = transaction.commit([(READ, &[&asked])]).await?;
            return Ok((read::the_run(&rows)?, Vec::new()));
        };
        let reason = to.reason.map(Reason::as_str);
        let (status, doc) = (to.status.as_str(), &*finish.doc);
        let params: Params<'_> = &[&asked[0], &holder, &epoch, &status, &reason, &finish.error, &base, &doc];
        let by = Sender::Agent(run.agent);
        let drafts = transaction.leave((FINISH, params), &[&run], by, &streams).await;
        let (transaction, drafts) = transaction.decided(drafts).await?;
        let (events, rows) = transaction.append_and_read(&drafts, (READ, &[&asked])).await?;
        Ok((read::the_run(&rows)?, events))
    }
}

fn judge(
    finish: &FinishRun,
    status: FinishStatus,
    locked: &[Row],
    own: &[Row],
) -> Result<(LockedRun, Found), Fault> {
    let run = LockedRun::read(locked.first().ok_or(NO_RUN)?)?;
    let holds = run.holder == Some(finish.holder.session);
    if run.epoch == finish.holder.epoch {
        if holds && let Some(to) = run.after(Change::Finish(status)) {
            return Ok((run, Found::Held(to)));
        }
        // Whoever resumed meanwhile asks under another session.
        if run.standing.is_ended_by(status) && (holds || !own.is_empty()) {
            return Ok((run, Found::Ended));
        }
    }
    Err(Refusal::Conflict("this execution of the run is over, or another consumer has it").into())
}
