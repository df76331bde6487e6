//! The [`Tools`] of SQLite.

use async_trait::async_trait;
use domain::{AgentId, Event, RoomId, RunId, Sender, ToolCallId, UserId};
use rusqlite::Row;
use uuid::Uuid;

use super::Sqlite;
use super::append::append_all;
use super::fault::Fault;
use super::notifications::notice::IS_HERE;
use super::notifications::withdraw;
use super::row::Columns;
use super::runs::read::locked_run;
use super::statement::statements;
use super::transaction::Tx;
use super::value::array;
use crate::error::{Refusal, StoreError};
use crate::number::bigint;
use crate::runs::events::Resolved;
use crate::runs::locked::LockedRun;
use crate::runs::rules::NO_RUN;
use crate::tools::judge::{Found, IN_USE, NO_CALL, TOO_LATE, called, ended, judge};
use crate::tools::{NewToolCall, Resolution, ToolCall, Tools};

mod expire;

statements! {
    CALL = "tools/call";
    KNOWN = "tools/known";
    WAIT = "tools/wait";
    GO_ON = "tools/go_on";
    READ = "tools/read";
    RESOLVE = "tools/resolve";
    PENDING = "tools/pending";
    OVERDUE = "tools/overdue";
    EXPIRE = "tools/expire";
    CANCEL = "tools/cancel";
}

#[async_trait]
impl Tools for Sqlite {
    async fn call_tool(&self, call: &NewToolCall) -> Result<(ToolCall, Vec<Event>), StoreError> {
        let call = call.clone();
        self.write(move |tx| make(tx, &call)).await
    }

    async fn tool_call(&self, call: ToolCallId) -> Result<Option<ToolCall>, StoreError> {
        self.read(move |tx| tx.row(READ, &[&call.0], read)).await
    }

    async fn resolve_tool(&self, resolution: &Resolution) -> Result<(ToolCall, Vec<Event>), StoreError> {
        let resolution = resolution.clone();
        self.write(move |tx| resolve(tx, &resolution)).await
    }

    async fn pending_tools(&self, user: UserId) -> Result<Vec<ToolCall>, StoreError> {
        self.read(move |tx| tx.rows(PENDING, &[&user.0, &tx.micros()], read)).await
    }

    async fn expire_tools(&self, limit: u32) -> Result<(Vec<ToolCall>, Vec<Event>), StoreError> {
        self.expire(limit).await
    }
}

/// Makes a call, or finds the one that it repeats.
fn make(tx: &Tx<'_>, call: &NewToolCall) -> Result<(ToolCall, Vec<Event>), Fault> {
    let run = locked_run(tx, call.run)?.ok_or(NO_RUN)?;
    let known: Option<Uuid> =
        tx.row(KNOWN, &[&run.id.0, &bigint(run.epoch), &call.nonce, &call.id.0], |row| row.value("id"))?;
    let person_in = tx.exists(IS_HERE, &[&run.room.0, &call.user.0])?;
    match judge(call, run, known, person_in)? {
        Found::Free(run) => {
            let made = insert(tx, call, &run)?;
            tx.execute(WAIT, &[&run.id.0])?;
            let events = append_all(tx, &[called(&made, &run)?])?;
            Ok((made, events))
        }
        Found::Known(known) => Ok((tx.row(READ, &[&known], read)?.ok_or(NO_CALL)?, Vec::new())),
    }
}

fn insert(tx: &Tx<'_>, call: &NewToolCall, run: &LockedRun) -> Result<ToolCall, Fault> {
    let made = tx.row(
        CALL,
        &[
            &call.id.0,
            &run.id.0,
            &bigint(run.epoch),
            &run.room.0,
            &run.agent.0,
            &call.user.0,
            &call.nonce,
            &call.tool,
            &call.args,
            &tx.after(call.timeout),
            &tx.micros(),
        ],
        read,
    )?;
    Ok(made.ok_or(IN_USE)?)
}

fn resolve(tx: &Tx<'_>, resolution: &Resolution) -> Result<(ToolCall, Vec<Event>), Fault> {
    let Resolution { call: id, user, outcome } = resolution;
    let call = tx.row(READ, &[&id.0], read)?.ok_or(NO_CALL)?;
    if call.user != *user {
        return Err(Refusal::Forbidden.into());
    }
    let (result, error) = (outcome.as_ref().ok(), outcome.as_ref().err());
    let resolved = tx.row(RESOLVE, &[&id.0, &result, &error, &tx.micros()], read)?.ok_or(TOO_LATE)?;
    tx.execute(GO_ON, &[&array([resolved.run.0])])?;
    withdraw(tx, &[id.0])?;
    let events = append_all(tx, &ended(&resolved, Sender::User(*user))?)?;
    Ok((resolved, events))
}

/// Cancels the calls that are pending for runs: the ends that are to be told, by id.
pub(super) fn cancel(tx: &Tx<'_>, runs: &[Uuid]) -> Result<Vec<Resolved<'static>>, Fault> {
    let mut cancelled = tx.rows(CANCEL, &[&array(runs.iter().copied()), &tx.micros()], |row| {
        Ok(Resolved {
            call: ToolCallId(row.value("id")?),
            run: RunId(row.value("run_id")?),
            agent: AgentId(row.value("agent_id")?),
            user: UserId(row.value("user_id")?),
            status: "cancelled",
            result: None,
            error: None,
        })
    })?;
    cancelled.sort_by_key(|call| call.call);
    Ok(cancelled)
}

fn read(row: &Row<'_>) -> Result<ToolCall, Fault> {
    Ok(ToolCall {
        id: ToolCallId(row.value("id")?),
        run: RunId(row.value("run_id")?),
        room: RoomId(row.value("room_id")?),
        agent: AgentId(row.value("agent_id")?),
        user: UserId(row.value("user_id")?),
        tool: row.value("tool")?,
        args: row.value("args")?,
        status: row.named("status")?,
        deadline: row.time("deadline")?,
        result: row.value("result")?,
        error: row.value("error")?,
    })
}
