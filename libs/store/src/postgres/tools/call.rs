//! Calling a tool.

use domain::Event;
use tokio_postgres::Row;

use super::{CALL, JUDGE, READ, WAIT, read};
use crate::postgres::Postgres;
use crate::postgres::append;
use crate::postgres::interval::micros;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::runs::{LOCK as LOCK_RUNS, locked};
use crate::postgres::sqlstate::Fault;
use crate::runs::rules::NO_RUN;
use crate::tools::judge::{Found, IN_USE, NO_CALL, called, judge};
use crate::tools::{NewToolCall, ToolCall};

impl Postgres {
    pub(super) async fn try_call(&self, call: &NewToolCall) -> Result<(ToolCall, Vec<Event>), Fault> {
        let run = vec![call.run.0];
        let session = self.session().await?;
        let (transaction, [_, locked, rows]) = session
            .begin([
                (append::LOCK, &[&[call.agent.0, call.user.0].as_slice()]),
                (LOCK_RUNS, &[&run]),
                (JUDGE, &[&call.run.0, &call.user.0, &call.nonce, &call.id.0]),
            ])
            .await?;
        let (transaction, found) = transaction.decided(judged(call, &locked, &rows)).await?;
        let run = match found {
            Found::Free(run) => run,
            Found::Known(known) => {
                let [rows] = transaction.commit([(READ, &[&known])]).await?;
                return Ok((read(rows.first().ok_or(NO_CALL)?)?, Vec::new()));
            }
        };
        let (epoch, timeout, args) = (bigint(run.epoch), micros(call.timeout), &*call.args);
        let [made, _] = transaction
            .run([
                (
                    CALL,
                    &[
                        &call.id.0,
                        &run.id.0,
                        &epoch,
                        &run.room.0,
                        &run.agent.0,
                        &call.user.0,
                        &call.nonce,
                        &call.tool,
                        &args,
                        &timeout,
                    ],
                ),
                (WAIT, &[&run.id.0, &epoch]),
            ])
            .await?;
        let made = made.first().ok_or_else(|| IN_USE.into()).and_then(read);
        let told = made.and_then(|call| Ok((called(&call, &run)?, call)));
        let (transaction, (draft, call)) = transaction.decided(told).await?;
        Ok((call, transaction.append_all(&[draft]).await?))
    }
}

fn judged(call: &NewToolCall, locked: &[Row], judged: &[Row]) -> Result<Found, Fault> {
    let (run, judged) = (locked.first().ok_or(NO_RUN)?, judged.first().ok_or(NO_RUN)?);
    Ok(judge(call, locked::read(run)?, judged.value("known")?, judged.value("person_in")?)?)
}
