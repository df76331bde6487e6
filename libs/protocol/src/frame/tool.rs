//! Tool calls: an agent asks a device of a person to do something, and waits for what comes of it.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{RawJson, WireDuration, raw};

/// The holder of a run asks a person's devices for something; answered by `tool_called`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallTool {
    /// The run that waits for the result.
    pub run_id: Uuid,
    /// The epoch under which the holder started it.
    pub epoch: u64,
    /// The name of the tool.
    pub tool: String,
    /// What the tool is given.
    pub args: RawJson,
    /// The person whose devices are asked, and who alone may answer.
    pub user_id: Uuid,
    /// How long the person has for the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<WireDuration>,
    /// Chosen by the agent; the same nonce again is the same call, not a second one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
}

/// A tool call was taken: the answer to an agent's `tool_call`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCalled {
    /// The call, as `tool.resolved` will name it.
    pub call_id: Uuid,
    /// The nonce of the frame, when it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
}

/// An agent asks for something, as the devices of the person see it. The first answer wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Which call.
    pub call_id: Uuid,
    /// The run that waits.
    pub run_id: Uuid,
    /// The room of the run.
    pub room_id: Uuid,
    /// The name of the tool.
    pub tool: String,
    /// What the tool is given.
    pub args: RawJson,
    /// Until when an answer counts, RFC 3339 in UTC.
    pub deadline: String,
}

/// What came of a tool call. As JSON the outcome is either `result` or `error`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ToolResultFields")]
pub struct ToolResult {
    /// Which call.
    pub call_id: Uuid,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: ToolOutcome,
}

/// What came of a tool call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// What the tool gave; `null` is a result too.
    Result(RawJson),
    /// Why it gave nothing.
    Error(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolResultFields {
    call_id: Uuid,
    #[serde(default, deserialize_with = "raw::given")]
    result: Option<RawJson>,
    #[serde(default)]
    error: Option<String>,
}

impl TryFrom<ToolResultFields> for ToolResult {
    type Error = &'static str;

    fn try_from(fields: ToolResultFields) -> Result<Self, Self::Error> {
        let outcome = match (fields.result, fields.error) {
            (Some(result), None) => ToolOutcome::Result(result),
            (None, Some(error)) => ToolOutcome::Error(error),
            (None, None) => return Err("result is missing (or error)"),
            (Some(_), Some(_)) => return Err("result and error can't both be given"),
        };
        Ok(Self { call_id: fields.call_id, outcome })
    }
}
