//! What an agent is told.

use domain::{RoomId, RunId, ToolCallId, UserId};
use protocol::frame::{AutocompleteRequest, Event, RawJson, Sender};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Receipt;

/// Something that happened, with the receipt to be acknowledged when it is dealt with.
#[derive(Debug)]
pub struct Received {
    /// What.
    pub what: Happening,
    /// Acknowledge it when it need not come again.
    pub receipt: Receipt,
}

/// What happens to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// Somebody wants work done: [`Consumer::start`](super::Consumer::start) takes it. It comes again when a holder of the run was lost.
    RunRequested(RunRequested),
    /// A run that this consumer does not hold is to be stopped. The cancellation of one that it holds is seen at its
    /// [`RunHandle`](super::RunHandle) alone.
    CancelRequested(RunId),
    /// A message that mentions the agent.
    Mentioned(Event),
    /// The end of a tool call that nobody waits for here.
    ToolResolved(ToolResolved),
    /// A person types a command: [`Consumer::complete`](super::Consumer::complete) answers. The first of the agent's consumers wins.
    Autocomplete(Question),
}

/// Work to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRequested {
    /// Which run.
    pub run_id: RunId,
    /// Where.
    pub room_id: RoomId,
    /// What is asked.
    pub input: RawJson,
    /// Who asks: a person or another agent.
    pub requester: Sender,
}

impl RunRequested {
    /// The person who asks; none for an agent.
    #[must_use]
    pub fn person(&self) -> Option<UserId> {
        self.requester.id.filter(|_| self.requester.kind == "user").map(UserId)
    }
}

/// What came of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ToolResolved {
    /// Which call.
    pub call_id: ToolCallId,
    /// The run that waited.
    pub run_id: RunId,
    /// `answered`, `expired` or `cancelled`.
    pub status: String,
    /// What the tool gave.
    #[serde(default)]
    pub result: Option<RawJson>,
    /// Why it gave nothing.
    #[serde(default)]
    pub error: Option<String>,
}

/// How a command could go on?
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Names the question in the answer.
    pub request_id: Uuid,
    /// Where the command is typed.
    pub room_id: RoomId,
    /// Who types.
    pub user_id: UserId,
    /// The name of the command.
    pub command: String,
    /// What was typed after it.
    pub input: String,
}

impl From<AutocompleteRequest> for Question {
    fn from(request: AutocompleteRequest) -> Self {
        let AutocompleteRequest { request_id, room_id, user_id, command, input } = request;
        Self { request_id, room_id: RoomId(room_id), user_id: UserId(user_id), command, input }
    }
}

/// One way in which a command could go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Choice {
    /// What is put in.
    pub value: String,
    /// What people read in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// An event of an agent's stream, as far as this release knows it.
#[derive(Debug)]
pub(super) enum AgentEvent {
    RunRequested(RunRequested),
    CancelRequested(RunId),
    Mentioned(Event),
    ToolResolved(ToolResolved),
    /// Of a newer server, or not readable.
    Other,
}

impl From<Event> for AgentEvent {
    fn from(event: Event) -> Self {
        let read = match event.kind.as_str() {
            "run.requested" => requested(&event).map(Self::RunRequested),
            "run.cancel_requested" => cancelled(&event).map(Self::CancelRequested),
            "tool.resolved" => serde_json::from_str(event.data.get()).map(Self::ToolResolved),
            "message.created" => return Self::Mentioned(event),
            _ => return Self::Other,
        };
        read.unwrap_or_else(|error| {
            tracing::warn!(%error, kind = event.kind, seq = event.seq, "an event that can't be read is passed over");
            Self::Other
        })
    }
}

fn requested(event: &Event) -> serde_json::Result<RunRequested> {
    #[derive(Deserialize)]
    struct Data {
        run_id: RunId,
        room_id: RoomId,
        input: RawJson,
    }
    let Data { run_id, room_id, input } = serde_json::from_str(event.data.get())?;
    Ok(RunRequested { run_id, room_id, input, requester: event.sender.clone() })
}

fn cancelled(event: &Event) -> serde_json::Result<RunId> {
    #[derive(Deserialize)]
    struct Data {
        run_id: RunId,
    }
    serde_json::from_str(event.data.get()).map(|Data { run_id }| run_id)
}
