//! Tool calls to and from protobuf.

use crate::codec::DecodeError;
use crate::codec::proto::{id, json, pb};
use crate::frame::{CallTool, ToolCall, ToolCalled, ToolOutcome, ToolResult, WireDuration};

impl From<&CallTool> for pb::ClientToolCall {
    fn from(call: &CallTool) -> Self {
        Self {
            run_id: call.run_id.to_string(),
            epoch: call.epoch,
            tool: call.tool.clone(),
            args: call.args.get().to_owned(),
            user_id: call.user_id.to_string(),
            timeout: call.timeout.as_ref().map(|timeout| timeout.0.clone()),
            nonce: call.nonce.clone(),
        }
    }
}

impl TryFrom<pb::ClientToolCall> for CallTool {
    type Error = DecodeError;

    fn try_from(call: pb::ClientToolCall) -> Result<Self, DecodeError> {
        Ok(Self {
            run_id: id("run_id", &call.run_id)?,
            epoch: call.epoch,
            tool: call.tool,
            args: json("args", call.args)?,
            user_id: id("user_id", &call.user_id)?,
            timeout: call.timeout.map(WireDuration),
            nonce: call.nonce,
        })
    }
}

impl From<&ToolCalled> for pb::ToolCalled {
    fn from(called: &ToolCalled) -> Self {
        Self { call_id: called.call_id.to_string(), nonce: called.nonce.clone() }
    }
}

impl TryFrom<pb::ToolCalled> for ToolCalled {
    type Error = DecodeError;

    fn try_from(called: pb::ToolCalled) -> Result<Self, DecodeError> {
        Ok(Self { call_id: id("call_id", &called.call_id)?, nonce: called.nonce })
    }
}

impl From<&ToolCall> for pb::ServerToolCall {
    fn from(call: &ToolCall) -> Self {
        Self {
            call_id: call.call_id.to_string(),
            run_id: call.run_id.to_string(),
            room_id: call.room_id.to_string(),
            tool: call.tool.clone(),
            args: call.args.get().to_owned(),
            deadline: call.deadline.clone(),
        }
    }
}

impl TryFrom<pb::ServerToolCall> for ToolCall {
    type Error = DecodeError;

    fn try_from(call: pb::ServerToolCall) -> Result<Self, DecodeError> {
        Ok(Self {
            call_id: id("call_id", &call.call_id)?,
            run_id: id("run_id", &call.run_id)?,
            room_id: id("room_id", &call.room_id)?,
            tool: call.tool,
            args: json("args", call.args)?,
            deadline: call.deadline,
        })
    }
}

impl From<&ToolResult> for pb::ToolResult {
    fn from(result: &ToolResult) -> Self {
        Self {
            call_id: result.call_id.to_string(),
            outcome: Some(match &result.outcome {
                ToolOutcome::Result(value) => pb::tool_result::Outcome::Result(value.get().to_owned()),
                ToolOutcome::Error(error) => pb::tool_result::Outcome::Error(error.clone()),
            }),
        }
    }
}

impl TryFrom<pb::ToolResult> for ToolResult {
    type Error = DecodeError;

    fn try_from(result: pb::ToolResult) -> Result<Self, DecodeError> {
        let outcome = match result.outcome {
            Some(pb::tool_result::Outcome::Result(value)) => ToolOutcome::Result(json("result", value)?),
            Some(pb::tool_result::Outcome::Error(error)) => ToolOutcome::Error(error),
            None => return Err(DecodeError::field("result", "is missing (or error)")),
        };
        Ok(Self { call_id: id("call_id", &result.call_id)?, outcome })
    }
}
