//! Frames from the client.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Autocomplete, AutocompleteReply, CallTool, Cursors, RawJson, Refresh, RunFinish, RunPatch, RunStart,
    ToolOutcome, ToolResult, Unwatch, Watch,
};

/// A frame from the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ClientFrame {
    /// Signs a connection in as a device or a consumer, taking its slot.
    Identify(Identify),
    /// Takes the slot of an earlier session again and goes on where the cursors say.
    Resume(Resume),
    /// The heartbeat, sent every `heartbeat_interval_ms`; answered by `pong`.
    Ping,
    /// Presents a newer access token; answered by `refreshed` or `error`.
    Refresh(Refresh),
    /// Sends a message into a room; answered by `sent` or `error` with the same nonce.
    Send(Send),
    /// Says that the person is typing.
    Typing(Typing),
    /// Says what the person looks at.
    Focus(Focus),
    /// Moves the read mark of a room.
    Read(Read),
    /// Follows a run.
    Watch(Watch),
    /// Follows a run no more.
    Unwatch(Unwatch),
    /// A consumer has handled its agent's events so far; answered by `acked`.
    Ack(Ack),
    /// A consumer begins a run; answered by `run` or `error`.
    RunStart(RunStart),
    /// The holder of a run changes its document.
    RunPatch(RunPatch),
    /// The holder of a run is done; answered by `run` or `error`.
    RunFinish(RunFinish),
    /// The holder of a run asks a person's devices for something; answered by `tool_called` or `error`.
    ToolCall(CallTool),
    /// A person answers a tool call.
    ToolResult(ToolResult),
    /// A person asks how a command could go on; answered by `autocomplete` or `error`.
    Autocomplete(Autocomplete),
    /// A consumer answers such a question.
    AutocompleteReply(AutocompleteReply),
}

impl ClientFrame {
    /// The value of `op`.
    #[must_use]
    pub const fn op(&self) -> &'static str {
        match self {
            Self::Identify(_) => "identify",
            Self::Resume(_) => "resume",
            Self::Ping => "ping",
            Self::Refresh(_) => "refresh",
            Self::Send(_) => "send",
            Self::Typing(_) => "typing",
            Self::Focus(_) => "focus",
            Self::Read(_) => "read",
            Self::Watch(_) => "watch",
            Self::Unwatch(_) => "unwatch",
            Self::Ack(_) => "ack",
            Self::RunStart(_) => "run_start",
            Self::RunPatch(_) => "run_patch",
            Self::RunFinish(_) => "run_finish",
            Self::ToolCall(_) => "tool_call",
            Self::ToolResult(_) => "tool_result",
            Self::Autocomplete(_) => "autocomplete",
            Self::AutocompleteReply(_) => "autocomplete_reply",
        }
    }

    /// The free JSON in it, with the name of its field; no frame has two.
    #[must_use]
    pub fn json(&self) -> Option<(&'static str, &RawJson)> {
        match self {
            Self::RunPatch(patch) => Some(("ops", &patch.ops)),
            Self::RunFinish(finish) => finish.ops.as_ref().map(|ops| ("ops", ops)),
            Self::ToolCall(call) => Some(("args", &call.args)),
            Self::ToolResult(ToolResult { outcome: ToolOutcome::Result(result), .. }) => {
                Some(("result", result))
            }
            Self::AutocompleteReply(reply) => Some(("choices", &reply.choices)),
            Self::Identify(_)
            | Self::Resume(_)
            | Self::Ping
            | Self::Refresh(_)
            | Self::Send(_)
            | Self::Typing(_)
            | Self::Focus(_)
            | Self::Read(_)
            | Self::Watch(_)
            | Self::Unwatch(_)
            | Self::Ack(_)
            | Self::RunStart(_)
            | Self::ToolResult(ToolResult { outcome: ToolOutcome::Error(_), .. })
            | Self::Autocomplete(_) => None,
        }
    }
}

/// Which slot a connection identifies as; the newest holder of a slot wins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Slot {
    /// A device of a person.
    Device(Uuid),
    /// A consumer of an agent, by name.
    Consumer(String),
}

/// The first frame of a client, unless it resumes.
///
/// As JSON the slot is either `device_id` or `consumer`, never both.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "IdentifyFields", into = "IdentifyFields")]
pub struct Identify {
    /// The slot that the connection takes.
    pub slot: Slot,
    /// What the client has already; streams that are not named begin at their head.
    pub cursors: Cursors,
    /// The log epoch that the cursors belong to.
    pub log_epoch: Option<Uuid>,
}

#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdentifyFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device_id: Option<Uuid>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    consumer: Option<String>,
    #[serde(default, skip_serializing_if = "Cursors::is_empty")]
    cursors: Cursors,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    log_epoch: Option<Uuid>,
}

impl TryFrom<IdentifyFields> for Identify {
    type Error = &'static str;

    fn try_from(fields: IdentifyFields) -> Result<Self, Self::Error> {
        let slot = match (fields.device_id, fields.consumer) {
            (Some(device), None) => Slot::Device(device),
            (None, Some(consumer)) => Slot::Consumer(consumer),
            (None, None) => return Err("device_id is missing (or consumer, for an agent)"),
            (Some(_), Some(_)) => return Err("device_id and consumer can't both be given"),
        };
        Ok(Self { slot, cursors: fields.cursors, log_epoch: fields.log_epoch })
    }
}

impl From<Identify> for IdentifyFields {
    fn from(identify: Identify) -> Self {
        let (device_id, consumer) = match identify.slot {
            Slot::Device(device) => (Some(device), None),
            Slot::Consumer(consumer) => (None, Some(consumer)),
        };
        Self { device_id, consumer, cursors: identify.cursors, log_epoch: identify.log_epoch }
    }
}

/// Goes on with an earlier session, on any node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// `session_id` of the last `ready`.
    pub session_id: Uuid,
    /// What the client has; streams that are not named begin at their head.
    pub cursors: Cursors,
    /// The log epoch that the cursors belong to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_epoch: Option<Uuid>,
}

/// A message to a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The room.
    pub room_id: Uuid,
    /// The text.
    pub body: String,
    /// Chosen by the client; the same nonce again is the same message, not a second one.
    pub nonce: String,
    /// The event of the message that this one answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<Uuid>,
}

/// The person types in this room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Typing {
    /// The room.
    pub room_id: Uuid,
}

/// What the person looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Focus {
    /// The room that is open; `null` for none.
    #[serde(default)]
    pub room_id: Option<Uuid>,
    /// Whether the person has done nothing for a while; `false` when left out.
    #[serde(default)]
    pub idle: bool,
}

/// Everything of this room up to `seq` has been read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// The room.
    pub room_id: Uuid,
    /// The number of the newest event that was read.
    pub seq: u64,
}

/// A consumer has handled the events of its agent's stream up to `seq`; answered by `acked`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// The number of the newest event that was handled.
    pub seq: u64,
}
