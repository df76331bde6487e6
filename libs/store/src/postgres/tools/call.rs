//! Calling a tool.

use domain::run::Change;
use domain::{AgentId, Event, EventKind, NotificationKind, RoomId, RunId, Sender, ToolCallId};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{CALL, JUDGE, READ, WAIT, read};
use crate::error::Refusal;
use crate::postgres::Postgres;
use crate::postgres::append::{self, Draft};
use crate::postgres::interval::micros;
use crate::postgres::notifications::Notice;
use crate::postgres::row::{Columns, bigint};
use crate::postgres::runs::events::{draft, raw};
use crate::postgres::runs::locked::LockedRun;
use crate::postgres::runs::{LOCK as LOCK_RUNS, NO_RUN};
use crate::postgres::sqlstate::Fault;
use crate::tools::{NewToolCall, ToolCall};

const NOT_WORKED_ON: Refusal = Refusal::Conflict("nobody works on this run");
const ANOTHER: Refusal = Refusal::Conflict("this execution of the run is over, or another consumer has it");
const IN_USE: Refusal = Refusal::Conflict("this call id is in use");

/// What a call finds.
enum Found {
    /// It is made, in this run.
    Free(LockedRun),
    /// It was made before.
    Known(Uuid),
}

impl Postgres {
    pub(super) async fn try_call(&self, call: &NewToolCall) -> Result<(ToolCall, Vec<Event>), Fault> {
        let run = vec![call.run.0];
        let session = self.session().await?;
        let (transaction, [_, locked, judged]) = session
            .begin([
                (append::LOCK, &[&[call.agent.0, call.user.0].as_slice()]),
                (LOCK_RUNS, &[&run]),
                (JUDGE, &[&call.run.0, &call.user.0, &call.nonce, &call.id.0]),
            ])
            .await?;
        let (transaction, found) = transaction.decided(judge(call, &locked, &judged)).await?;
        let run = match found {
            Found::Free(run) => run,
            Found::Known(known) => {
                let [rows] = transaction.commit([(READ, &[&known])]).await?;
                return Ok((read(rows.first().ok_or(super::NO_CALL)?)?, Vec::new()));
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

fn judge(call: &NewToolCall, locked: &[Row], judged: &[Row]) -> Result<Found, Fault> {
    let (locked, judged) = (locked.first().ok_or(NO_RUN)?, judged.first().ok_or(NO_RUN)?);
    let run = LockedRun::read(locked)?;
    if run.agent != call.agent {
        return Err(NO_RUN.into());
    }
    if call.epoch.is_some_and(|epoch| epoch != run.epoch) {
        return Err(ANOTHER.into());
    }
    if let Some(known) = judged.value::<Option<Uuid>>("known")? {
        return Ok(Found::Known(known));
    }
    if !judged.value::<bool>("person_in")? {
        return Err(Refusal::NotFound("person").into());
    }
    if run.after(Change::ToolCall).is_none() {
        return Err(NOT_WORKED_ON.into());
    }
    if call.session.is_some() && call.session != run.holder {
        return Err(ANOTHER.into());
    }
    Ok(Found::Free(run))
}

/// `tool.called`, of which the person is notified.
fn called(call: &ToolCall, run: &LockedRun) -> Result<Draft, Fault> {
    #[derive(Serialize)]
    struct Body<'a> {
        call_id: ToolCallId,
        run_id: RunId,
        room_id: RoomId,
        agent_id: AgentId,
        tool: &'a str,
        args: &'a RawValue,
        deadline: String,
    }
    let body = Body {
        call_id: call.id,
        run_id: call.run,
        room_id: call.room,
        agent_id: call.agent,
        tool: &call.tool,
        args: raw(&call.args)?,
        // As all times are told: with microseconds.
        deadline: format!("{:.6}", call.deadline),
    };
    let kind = if run.requester == call.user.into() {
        NotificationKind::RunWaiting
    } else {
        NotificationKind::ToolCall
    };
    let notice = Notice { user: call.user, kind, room: call.room, source: call.id.0 };
    let told = draft(call.user, EventKind::ToolCalled, Sender::Agent(call.agent), &body)?;
    Ok(Draft { notice: Some(notice), ..told })
}
