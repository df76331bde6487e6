//! Runs and their tool calls.

use domain::Principal;
use operations::BuiltRun;
use serde::Serialize;
use store::tools::{ToolCall, ToolStatus};
use utoipa::ToSchema;
use uuid::Uuid;

use super::{RawData, time};

/// A person or an agent.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Principal)]
pub struct PrincipalShape {
    /// `user` or `agent`.
    #[schema(pattern = "^(user|agent)$")]
    pub kind: &'static str,
    /// Who.
    pub id: Uuid,
}

impl From<Principal> for PrincipalShape {
    fn from(principal: Principal) -> Self {
        Self { kind: principal.kind(), id: principal.id() }
    }
}

/// A run: one piece of work of an agent in a room.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Run)]
pub struct RunShape {
    /// Which.
    pub id: Uuid,
    /// Where.
    pub room_id: Uuid,
    /// Who works.
    pub agent_id: Uuid,
    /// Who asked for it.
    pub requested_by: PrincipalShape,
    /// What was asked, as it was given.
    #[schema(value_type = serde_json::Value)]
    pub input: RawData,
    /// `queued`, `running`, `waiting`, `succeeded`, `failed`, `cancelled` or `expired`.
    #[schema(pattern = "^(queued|running|waiting|succeeded|failed|cancelled|expired)$")]
    pub status: &'static str,
    /// Why it stands so, when there is more to say.
    pub reason: Option<&'static str>,
    /// What went wrong, for people.
    pub error: Option<String>,
    /// Number of the execution; 0 before the first.
    pub epoch: u64,
    /// Version of the document.
    pub version: u64,
    /// The document.
    #[schema(value_type = Object)]
    pub doc: RawData,
    /// Runs before it in a chain of agents that ask agents.
    pub hops: u32,
    /// Executions that were begun and count.
    pub attempts: u32,
    /// Whether somebody asked for its end and the agent has not answered yet.
    pub cancel_requested: bool,
    /// When it was made.
    #[schema(format = DateTime)]
    pub created_at: String,
    /// When it was first started.
    #[schema(format = DateTime)]
    pub started_at: Option<String>,
    /// When it came to its end.
    #[schema(format = DateTime)]
    pub finished_at: Option<String>,
}

impl From<BuiltRun> for RunShape {
    fn from(BuiltRun { run, doc, version }: BuiltRun) -> Self {
        Self {
            id: run.id.0,
            room_id: run.room.0,
            agent_id: run.agent.0,
            requested_by: run.requester.into(),
            input: RawData(run.input),
            status: run.status.as_str(),
            reason: run.reason.map(domain::run::Reason::as_str),
            error: run.error,
            epoch: run.epoch,
            version,
            doc: RawData(doc),
            hops: run.hops,
            attempts: run.attempts,
            cancel_requested: run.cancel_requested && !run.status.is_final(),
            created_at: time(run.created_at),
            started_at: run.started_at.map(time),
            finished_at: run.finished_at.map(time),
        }
    }
}

/// A call of a tool in a person's browser.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = ToolCall)]
pub struct ToolCallShape {
    /// Which.
    pub id: Uuid,
    /// The same, by the name that frames and events have for it.
    pub call_id: Uuid,
    /// Of which run.
    pub run_id: Uuid,
    /// Where.
    pub room_id: Uuid,
    /// Who calls.
    pub agent_id: Uuid,
    /// Who is asked, and alone may answer.
    pub user_id: Uuid,
    /// Which tool.
    pub tool: String,
    /// What it is given, as the agent gave it.
    #[schema(value_type = serde_json::Value)]
    pub args: RawData,
    /// `pending`, `answered`, `expired` or `cancelled`.
    #[schema(pattern = "^(pending|answered|expired|cancelled)$")]
    pub status: &'static str,
    /// Until when an answer counts.
    #[schema(format = DateTime)]
    pub deadline: String,
    /// The answer, when it went well; as it was given.
    #[schema(value_type = Option<serde_json::Value>)]
    pub result: Option<RawData>,
    /// Why it did not go well, in words of the browser.
    pub error: Option<String>,
}

impl From<ToolCall> for ToolCallShape {
    fn from(call: ToolCall) -> Self {
        Self {
            id: call.id.0,
            call_id: call.id.0,
            run_id: call.run.0,
            room_id: call.room.0,
            agent_id: call.agent.0,
            user_id: call.user.0,
            tool: call.tool,
            args: RawData(call.args),
            status: name(call.status),
            deadline: time(call.deadline),
            result: call.result.map(RawData),
            error: call.error,
        }
    }
}

const fn name(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Pending => "pending",
        ToolStatus::Answered => "answered",
        ToolStatus::Expired => "expired",
        ToolStatus::Cancelled => "cancelled",
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use domain::run::{Reason, RunStatus};
    use domain::{AgentId, RoomId, RunId, UserId};
    use store::runs::{Run, StoredDoc};

    use super::*;

    #[test]
    fn a_run_has_the_version_of_its_document_and_free_json_stays_as_it_was_given() {
        let (id, room, agent, alex) = (RunId::new(), RoomId::new(), AgentId::new(), UserId::new());
        let doc: Arc<str> = r#"{"items":[ ]}"#.into();
        let run = Run {
            id,
            room,
            agent,
            requester: alex.into(),
            input: r#"{"b": 1, "a": 2.50}"#.into(),
            status: RunStatus::Waiting,
            reason: Some(Reason::ToolCall),
            error: None,
            epoch: 2,
            version: 9,
            hops: 0,
            attempts: 1,
            cancel_requested: true,
            created_at: "2026-11-20T10:00:00Z".parse().expect("time"),
            started_at: Some("2026-11-20T10:00:01.5Z".parse().expect("time")),
            finished_at: None,
            doc: StoredDoc { doc: Arc::clone(&doc), version: 7, patches: Vec::new() },
        };
        let json = serde_json::to_string(&RunShape::from(BuiltRun { run, doc, version: 7 })).expect("json");
        let expected = format!(
            r#"{{"id":"{id}","room_id":"{room}","agent_id":"{agent}","requested_by":{{"kind":"user","id":"{alex}"}},"input":{{"b": 1, "a": 2.50}},"status":"waiting","reason":"tool_call","error":null,"epoch":2,"version":7,"doc":{{"items":[ ]}},"hops":0,"attempts":1,"cancel_requested":true,"created_at":"2026-11-20T10:00:00.000000Z","started_at":"2026-11-20T10:00:01.500000Z","finished_at":null}}"#
        );
        assert_eq!(json, expected);
    }
}
