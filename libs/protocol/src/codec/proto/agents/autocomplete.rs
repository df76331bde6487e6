//! Autocomplete to and from protobuf.

use crate::codec::DecodeError;
use crate::codec::proto::{id, json, pb};
use crate::frame::{Autocomplete, AutocompleteReply, AutocompleteRequest, Choices};

impl From<&Autocomplete> for pb::ClientAutocomplete {
    fn from(question: &Autocomplete) -> Self {
        Self {
            request_id: question.request_id.to_string(),
            agent_id: question.agent_id.to_string(),
            room_id: question.room_id.to_string(),
            command: question.command.clone(),
            input: question.input.clone(),
        }
    }
}

impl TryFrom<pb::ClientAutocomplete> for Autocomplete {
    type Error = DecodeError;

    fn try_from(question: pb::ClientAutocomplete) -> Result<Self, DecodeError> {
        Ok(Self {
            request_id: id("request_id", &question.request_id)?,
            agent_id: id("agent_id", &question.agent_id)?,
            room_id: id("room_id", &question.room_id)?,
            command: question.command,
            input: question.input,
        })
    }
}

impl From<&AutocompleteRequest> for pb::ServerAutocomplete {
    fn from(question: &AutocompleteRequest) -> Self {
        Self {
            request_id: question.request_id.to_string(),
            room_id: question.room_id.to_string(),
            user_id: question.user_id.to_string(),
            command: question.command.clone(),
            input: question.input.clone(),
        }
    }
}

impl TryFrom<pb::ServerAutocomplete> for AutocompleteRequest {
    type Error = DecodeError;

    fn try_from(question: pb::ServerAutocomplete) -> Result<Self, DecodeError> {
        Ok(Self {
            request_id: id("request_id", &question.request_id)?,
            room_id: id("room_id", &question.room_id)?,
            user_id: id("user_id", &question.user_id)?,
            command: question.command,
            input: question.input,
        })
    }
}

impl From<&AutocompleteReply> for pb::AutocompleteReply {
    fn from(reply: &AutocompleteReply) -> Self {
        Self { request_id: reply.request_id.to_string(), choices: reply.choices.get().to_owned() }
    }
}

impl TryFrom<pb::AutocompleteReply> for AutocompleteReply {
    type Error = DecodeError;

    fn try_from(reply: pb::AutocompleteReply) -> Result<Self, DecodeError> {
        Ok(Self {
            request_id: id("request_id", &reply.request_id)?,
            choices: json("choices", reply.choices)?,
        })
    }
}

impl From<&Choices> for pb::Choices {
    fn from(choices: &Choices) -> Self {
        Self {
            request_id: choices.request_id.to_string(),
            choices: choices.choices.get().to_owned(),
            timed_out: choices.timed_out,
        }
    }
}

impl TryFrom<pb::Choices> for Choices {
    type Error = DecodeError;

    fn try_from(choices: pb::Choices) -> Result<Self, DecodeError> {
        Ok(Self {
            request_id: id("request_id", &choices.request_id)?,
            choices: json("choices", choices.choices)?,
            timed_out: choices.timed_out,
        })
    }
}
