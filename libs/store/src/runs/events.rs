//! What is told of runs and their tool calls in streams.
//!
//! What agents and browsers gave as JSON is put into the events as it is.

use domain::{
    AgentId, EventId, EventKind, NotificationKind, Principal, RoomId, RunId, RunStatus, Sender, StreamRef,
    ToolCallId, UserId,
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::locked::LockedRun;
use crate::error::StoreError;
use crate::log::draft::Draft;
use crate::notifications::Notice;

/// An event with a body that is written as it is declared.
pub(crate) fn draft(
    stream: impl Into<StreamRef>,
    kind: EventKind,
    sender: Sender,
    body: &impl Serialize,
) -> Result<Draft, StoreError> {
    let data =
        serde_json::to_string(body).map_err(|error| StoreError::Internal(format!("{kind}: {error}")))?;
    Ok(Draft { sender, data: data.into(), ..Draft::of_system(stream, kind, &serde_json::Value::Null) })
}

/// JSON of a column or a call, to be put into an event unread.
pub(crate) fn raw(text: &str) -> Result<&RawValue, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Internal(format!("JSON that is none: {error}")))
}

/// What an agent is told of a run that it may start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) run: RunId,
    pub(crate) room: RoomId,
    pub(crate) agent: AgentId,
    pub(crate) requester: Principal,
    /// JSON text.
    pub(crate) input: &'a str,
}

impl Request<'_> {
    /// `run.requested`.
    pub(crate) fn draft(&self) -> Result<Draft, StoreError> {
        #[derive(Serialize)]
        struct Body<'a> {
            run_id: RunId,
            room_id: RoomId,
            input: &'a RawValue,
        }
        let body = Body { run_id: self.run, room_id: self.room, input: raw(self.input)? };
        draft(self.agent, EventKind::RunRequested, self.requester.into(), &body)
    }
}

/// `run.finished`, of a run that came to its end: who asked for it is notified, unless it was cancelled.
pub(crate) fn finished(run: &LockedRun, status: RunStatus, by: Sender) -> Result<Draft, StoreError> {
    #[derive(Serialize)]
    struct Body {
        run_id: RunId,
        agent_id: AgentId,
        status: RunStatus,
    }
    let notice = match run.requester {
        Principal::User(user) if status != RunStatus::Cancelled => {
            Some(Notice { user, kind: NotificationKind::RunFinished, room: run.room, source: run.id.0 })
        }
        _ => None,
    };
    let body = Body { run_id: run.id, agent_id: run.agent, status };
    Ok(Draft { notice, ..draft(run.room, EventKind::RunFinished, by, &body)? })
}

/// `run.cancel_requested`.
pub(crate) fn to_be_stopped(run: &LockedRun, by: Sender) -> Result<Draft, StoreError> {
    #[derive(Serialize)]
    struct Body {
        run_id: RunId,
        room_id: RoomId,
    }
    let body = Body { run_id: run.id, room_id: run.room };
    draft(run.agent, EventKind::RunCancelRequested, by, &body)
}

/// The end of a tool call.
#[derive(Debug)]
pub(crate) struct Resolved<'a> {
    pub(crate) call: ToolCallId,
    pub(crate) run: RunId,
    pub(crate) agent: AgentId,
    pub(crate) user: UserId,
    /// As it is stored.
    pub(crate) status: &'a str,
    /// JSON text.
    pub(crate) result: Option<&'a str>,
    pub(crate) error: Option<&'a str>,
}

impl Resolved<'_> {
    /// `tool.resolved`, for the agent and for the person.
    pub(crate) fn drafts(&self, by: Sender) -> Result<[Draft; 2], StoreError> {
        #[derive(Serialize)]
        struct Body<'a> {
            call_id: ToolCallId,
            run_id: RunId,
            status: &'a str,
            result: Option<&'a RawValue>,
            error: Option<&'a str>,
        }
        let result = self.result.map(raw).transpose()?;
        let body =
            Body { call_id: self.call, run_id: self.run, status: self.status, result, error: self.error };
        let for_agent = draft(self.agent, EventKind::ToolResolved, by, &body)?;
        let for_person = Draft { stream: self.user.into(), id: EventId::new(), ..for_agent.clone() };
        Ok([for_agent, for_person])
    }
}
