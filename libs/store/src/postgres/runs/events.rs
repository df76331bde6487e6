//! What is told of runs and their tool calls in streams.
//!
//! What agents and browsers gave as JSON is put into the events as it is.

use std::sync::Arc;

use domain::{AgentId, EventKind, RoomId, RunId, RunStatus, Sender, StreamRef, ToolCallId, UserId};
use serde::Serialize;
use serde_json::value::RawValue;
use tokio_postgres::Row;

use crate::postgres::append::Draft;
use crate::postgres::row::{self, Columns};
use crate::postgres::sqlstate::Fault;

/// An event with a body that is written as it is declared.
pub(in crate::postgres) fn draft(
    stream: impl Into<StreamRef>,
    kind: EventKind,
    sender: Sender,
    body: &impl Serialize,
) -> Result<Draft, Fault> {
    let data = serde_json::to_string(body).map_err(|error| Fault::internal(format!("{kind}: {error}")))?;
    Ok(Draft { sender, data: data.into(), ..Draft::of_system(stream, kind, &serde_json::Value::Null) })
}

/// JSON of a column or a call, to be put into an event unread.
pub(in crate::postgres) fn raw(text: &str) -> Result<&RawValue, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::internal(format!("JSON that is none: {error}")))
}

/// `run.requested`, from the columns `id, room_id, agent_id, requester_kind, requester_id, input`.
pub(in crate::postgres) fn requested(row: &Row) -> Result<Draft, Fault> {
    #[derive(Serialize)]
    struct Body<'a> {
        run_id: RunId,
        room_id: RoomId,
        input: &'a RawValue,
    }
    let body = Body {
        run_id: RunId(row.value("id")?),
        room_id: RoomId(row.value("room_id")?),
        input: raw(row.value("input")?)?,
    };
    let agent = AgentId(row.value("agent_id")?);
    draft(
        agent,
        EventKind::RunRequested,
        row::principal(row, "requester_kind", "requester_id")?.into(),
        &body,
    )
}

/// `run.finished`.
pub(in crate::postgres) fn finished(
    run: RunId,
    room: RoomId,
    agent: AgentId,
    status: RunStatus,
    by: Sender,
) -> Result<Draft, Fault> {
    #[derive(Serialize)]
    struct Body {
        run_id: RunId,
        agent_id: AgentId,
        status: RunStatus,
    }
    draft(room, EventKind::RunFinished, by, &Body { run_id: run, agent_id: agent, status })
}

/// The end of a tool call.
pub(in crate::postgres) struct Resolved<'a> {
    pub(in crate::postgres) call: ToolCallId,
    pub(in crate::postgres) run: RunId,
    pub(in crate::postgres) agent: AgentId,
    pub(in crate::postgres) user: UserId,
    /// As it is stored.
    pub(in crate::postgres) status: &'a str,
    /// JSON text.
    pub(in crate::postgres) result: Option<&'a str>,
    pub(in crate::postgres) error: Option<&'a str>,
}

impl Resolved<'_> {
    /// A call that went with its run, from the columns `id, run_id, agent_id, user_id`.
    pub(in crate::postgres) fn cancelled(row: &Row) -> Result<Self, Fault> {
        Ok(Self {
            call: ToolCallId(row.value("id")?),
            run: RunId(row.value("run_id")?),
            agent: AgentId(row.value("agent_id")?),
            user: UserId(row.value("user_id")?),
            status: "cancelled",
            result: None,
            error: None,
        })
    }

    /// `tool.resolved`, for the agent and for the person.
    pub(in crate::postgres) fn drafts(&self, by: Sender) -> Result<[Draft; 2], Fault> {
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
        let for_person = Draft { stream: self.user.into(), id: domain::EventId::new(), ..for_agent.clone() };
        Ok([for_agent, for_person])
    }
}

/// A column of JSON text.
pub(in crate::postgres) fn json_text(row: &Row, column: &str) -> Result<Option<Arc<str>>, Fault> {
    Ok(row.value::<Option<&str>>(column)?.map(Arc::from))
}
