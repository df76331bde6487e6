//! What becomes of a call of a tool, and what is told of it: decided here, from what each database finds.

use domain::run::Change;
use domain::{AgentId, EventKind, NotificationKind, RoomId, RunId, Sender, ToolCallId};
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::{NewToolCall, ToolCall};
use crate::error::{Refusal, StoreError};
use crate::log::draft::Draft;
use crate::notifications::Notice;
use crate::runs::events::{Resolved, draft, raw};
use crate::runs::locked::LockedRun;
use crate::runs::rules::NO_RUN;

pub(crate) const NO_CALL: Refusal = Refusal::NotFound("tool call");
pub(crate) const TOO_LATE: Refusal = Refusal::Conflict("this call was answered already, or its time is over");
pub(crate) const IN_USE: Refusal = Refusal::Conflict("this call id is in use");
const NOT_WORKED_ON: Refusal = Refusal::Conflict("nobody works on this run");
const ANOTHER: Refusal = Refusal::Conflict("this execution of the run is over, or another consumer has it");

/// What a call finds.
#[derive(Debug)]
pub(crate) enum Found {
    /// It is made, in this run.
    Free(LockedRun),
    /// It was made before.
    Known(Uuid),
}

/// Judges a call in a run; `known` is the one that it repeats, `person_in` whether who is asked is in the room.
pub(crate) fn judge(
    call: &NewToolCall,
    run: LockedRun,
    known: Option<Uuid>,
    person_in: bool,
) -> Result<Found, Refusal> {
    if run.agent != call.agent {
        return Err(NO_RUN);
    }
    if call.epoch.is_some_and(|epoch| epoch != run.epoch) {
        return Err(ANOTHER);
    }
    if let Some(known) = known {
        return Ok(Found::Known(known));
    }
    if !person_in {
        return Err(Refusal::NotFound("person"));
    }
    if run.after(Change::ToolCall).is_none() {
        return Err(NOT_WORKED_ON);
    }
    if call.session.is_some() && call.session != run.holder {
        return Err(ANOTHER);
    }
    Ok(Found::Free(run))
}

/// `tool.called`, of which the person is notified.
pub(crate) fn called(call: &ToolCall, run: &LockedRun) -> Result<Draft, StoreError> {
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

/// `tool.resolved`, for the agent and for the person.
pub(crate) fn ended(call: &ToolCall, by: Sender) -> Result<[Draft; 2], StoreError> {
    Resolved {
        call: call.id,
        run: call.run,
        agent: call.agent,
        user: call.user,
        status: call.status.as_str(),
        result: call.result.as_deref(),
        error: call.error.as_deref(),
    }
    .drafts(by)
}
