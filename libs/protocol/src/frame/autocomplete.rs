//! Autocomplete of commands: what a person types is completed by an agent.
//!
//! Both frames of the server are called `autocomplete`: the question as an agent is given it
//! ([`AutocompleteRequest`]), and the answer as the person is given it ([`Choices`]).

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::RawJson;

/// A person asks an agent how a command could go on; answered by `autocomplete` with `choices`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Autocomplete {
    /// Chosen by the client; names the question in the answer.
    pub request_id: Uuid,
    /// Who is asked.
    pub agent_id: Uuid,
    /// Where the command is typed.
    pub room_id: Uuid,
    /// The name of the command.
    pub command: String,
    /// What was typed after it.
    pub input: String,
}

/// The question, as a consumer of the agent is given it. The first answer wins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AutocompleteRequest {
    /// Which question.
    pub request_id: Uuid,
    /// Where the command is typed.
    pub room_id: Uuid,
    /// Who types.
    pub user_id: Uuid,
    /// The name of the command.
    pub command: String,
    /// What was typed after it.
    pub input: String,
}

/// A consumer answers a question. There is no answer but `error`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AutocompleteReply {
    /// Which question.
    pub request_id: Uuid,
    /// An array of `{value, label?}`.
    pub choices: RawJson,
}

/// The answer, as the person is given it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choices {
    /// Which question.
    pub request_id: Uuid,
    /// An array of `{value, label?}`.
    pub choices: RawJson,
    /// Whether nobody answered in time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
}
