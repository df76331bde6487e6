//! The end of a run by its holder.

use domain::run::Reason;
use domain::{Event, FinishStatus, Sender};
use tokio_postgres::Row;

use super::{FINISH, LOCK, OWN, READ, locked, read};
use crate::postgres::Postgres;
use crate::postgres::append;
use crate::postgres::row::bigint;
use crate::postgres::sqlstate::Fault;
use crate::postgres::transaction::Params;
use crate::runs::locked::LockedRun;
use crate::runs::rules::{Found, NO_RUN};
use crate::runs::{FinishRun, Run};

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
    let run = locked::read(locked.first().ok_or(NO_RUN)?)?;
    let found = run.finished(finish, status, !own.is_empty())?;
    Ok((run, found))
}
