//! Messages and chunks of chat completions, as far as they are used. What servers add is passed over.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message of the conversation that a model is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// How the model is to behave.
    System {
        /// The text.
        content: String,
    },
    /// What people say.
    User {
        /// The text.
        content: String,
    },
    /// What the model said.
    Assistant {
        /// The text; null beside tool calls.
        content: Option<String>,
        /// What it wanted done.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Called>,
    },
    /// What came of a tool call.
    Tool {
        /// Of which.
        tool_call_id: String,
        /// The result.
        content: String,
    },
}

/// A tool call of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// Names the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// What it is given: JSON, if the model did well.
    pub arguments: String,
}

impl Serialize for Called {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let function = serde_json::json!({ "name": self.name, "arguments": self.arguments });
        serde_json::json!({ "id": self.id, "type": "function", "function": function }).serialize(serializer)
    }
}

/// What is asked of a model.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Request<'a> {
    pub(crate) model: &'a str,
    pub(crate) messages: &'a [Message],
    pub(crate) stream: bool,
    #[serde(skip_serializing_if = "<[Value]>::is_empty")]
    pub(crate) tools: &'a [Value],
}

/// A part of an answer, or a whole one that is not streamed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Chunk {
    pub(crate) choices: Vec<Choice>,
    pub(crate) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Choice {
    #[serde(alias = "message")]
    pub(crate) delta: Option<Delta>,
    pub(crate) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Delta {
    pub(crate) content: Option<String>,
    #[serde(alias = "reasoning")]
    pub(crate) reasoning_content: Option<String>,
    pub(crate) tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct CallDelta {
    /// Left out by some servers where calls come whole.
    pub(crate) index: Option<usize>,
    pub(crate) id: Option<String>,
    pub(crate) function: Option<FunctionDelta>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FunctionDelta {
    pub(crate) name: Option<String>,
    pub(crate) arguments: Option<String>,
}
