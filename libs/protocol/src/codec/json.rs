//! Frames as JSON: one object with `op`.
//!
//! `op` may stand anywhere in the object, so it is looked for first, and the fields are then read
//! straight into the type of that frame. (Serde's tagged enums would copy everything into a tree in
//! between, which loses raw JSON, positions and names of fields in errors.)

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use bytes::Bytes;
use serde::de::value::{CowStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;

use super::DecodeError;
use crate::frame::{ClientFrame, ServerFrame};

/// What is sent in place of a frame that can't be written. Writing plain structs into memory does not
/// fail, and if a change ever makes it, the peer shall hear of it instead of the process dying.
const UNWRITABLE: &[u8] = br#"{"op":"error","code":"internal","detail":"a frame could not be encoded"}"#;

pub(super) fn encode<T: Serialize>(frame: &T) -> Bytes {
    serde_json::to_vec(frame).map_or(Bytes::from_static(UNWRITABLE), Bytes::from)
}

pub(super) fn decode_client(bytes: &[u8]) -> Result<ClientFrame, DecodeError> {
    let op = find_op(bytes)?;
    match op.as_ref() {
        "identify" => fields(bytes).map(ClientFrame::Identify),
        "resume" => fields(bytes).map(ClientFrame::Resume),
        "ping" => fields(bytes).map(|Nothing {}| ClientFrame::Ping),
        "refresh" => fields(bytes).map(ClientFrame::Refresh),
        "send" => fields(bytes).map(ClientFrame::Send),
        "typing" => fields(bytes).map(ClientFrame::Typing),
        "focus" => fields(bytes).map(ClientFrame::Focus),
        "read" => fields(bytes).map(ClientFrame::Read),
        "watch" => fields(bytes).map(ClientFrame::Watch),
        "unwatch" => fields(bytes).map(ClientFrame::Unwatch),
        "ack" => fields(bytes).map(ClientFrame::Ack),
        "run_start" => fields(bytes).map(ClientFrame::RunStart),
        "run_patch" => fields(bytes).map(ClientFrame::RunPatch),
        "run_finish" => fields(bytes).map(ClientFrame::RunFinish),
        "tool_call" => fields(bytes).map(ClientFrame::ToolCall),
        "tool_result" => fields(bytes).map(ClientFrame::ToolResult),
        "autocomplete" => fields(bytes).map(ClientFrame::Autocomplete),
        "autocomplete_reply" => fields(bytes).map(ClientFrame::AutocompleteReply),
        unknown => return Err(DecodeError::unknown_op(unknown)),
    }
    .map_err(|error| error.in_op(&op))
}

pub(super) fn decode_server(bytes: &[u8]) -> Result<ServerFrame, DecodeError> {
    let op = find_op(bytes)?;
    match op.as_ref() {
        "hello" => fields(bytes).map(ServerFrame::Hello),
        "ready" => fields(bytes).map(Box::new).map(ServerFrame::Ready),
        "event" => fields(bytes).map(ServerFrame::Event),
        "live" => Ok(ServerFrame::Live),
        "gap" => fields(bytes).map(ServerFrame::Gap),
        "typing" => fields(bytes).map(ServerFrame::Typing),
        "presence" => fields(bytes).map(ServerFrame::Presence),
        "run" => fields(bytes).map(ServerFrame::Run),
        "hint" => fields(bytes).map(ServerFrame::Hint),
        "tool_call" => fields(bytes).map(ServerFrame::ToolCall),
        "tool_called" => fields(bytes).map(ServerFrame::ToolCalled),
        "autocomplete" => autocomplete(bytes),
        "sent" => fields(bytes).map(ServerFrame::Sent),
        "acked" => fields(bytes).map(ServerFrame::Acked),
        "pong" => Ok(ServerFrame::Pong),
        "refresh" => fields(bytes).map(ServerFrame::Refresh),
        "refreshed" => fields(bytes).map(ServerFrame::Refreshed),
        "error" => fields(bytes).map(ServerFrame::Error),
        "drain" => fields(bytes).map(ServerFrame::Drain),
        unknown => return Err(DecodeError::unknown_op(unknown)),
    }
    .map_err(|error| error.in_op(&op))
}

/// The question to an agent, or the answer to a person: the one with `choices`.
fn autocomplete(bytes: &[u8]) -> Result<ServerFrame, DecodeError> {
    #[derive(Deserialize)]
    struct Kind {
        choices: Option<IgnoredAny>,
    }
    match fields(bytes)? {
        Kind { choices: Some(IgnoredAny) } => fields(bytes).map(ServerFrame::Choices),
        Kind { choices: None } => fields(bytes).map(ServerFrame::Autocomplete),
    }
}

/// A frame without fields of a client.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

/// A string that is borrowed from the input unless it has escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn find_op(bytes: &[u8]) -> Result<Cow<'_, str>, DecodeError> {
    let mut fault = None;
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let found = json.deserialize_map(OpVisitor { fault: &mut fault }).and_then(|op| json.end().map(|()| op));
    match (found, fault) {
        (_, Some(fault)) => Err(fault),
        (Ok(op), None) => Ok(op),
        (Err(error), None) => Err(DecodeError::malformed(match error.classify() {
            Category::Data => format!("a frame is one JSON object: {error}"),
            Category::Syntax | Category::Eof | Category::Io => format!("not JSON: {error}"),
        })),
    }
}

/// Finds `op` and checks the syntax of all the rest.
struct OpVisitor<'e> {
    fault: &'e mut Option<DecodeError>,
}

impl<'de> Visitor<'de> for OpVisitor<'_> {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with op")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut op = None;
        while let Some(Text(key)) = map.next_key()? {
            if key != "op" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            if op.is_some() {
                *self.fault = Some(DecodeError::no_op("op is given twice"));
                return Err(A::Error::custom("op"));
            }
            let Text(value) = map.next_value().inspect_err(|error| {
                *self.fault = Some(DecodeError::no_op(format_args!("op: {error}")));
            })?;
            op = Some(value);
        }
        op.ok_or_else(|| {
            *self.fault = Some(DecodeError::no_op("there is no op"));
            A::Error::custom("op")
        })
    }
}

/// Reads everything but `op` into the type of a frame.
fn fields<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, DecodeError> {
    let mut fault = None;
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = json.deserialize_map(FrameVisitor { fault: &mut fault, frame: PhantomData });
    match (read, fault) {
        (_, Some(fault)) => Err(fault),
        (Ok(frame), None) => Ok(frame),
        (Err(error), None) => Err(DecodeError::malformed(error)),
    }
}

struct FrameVisitor<'e, T> {
    fault: &'e mut Option<DecodeError>,
    frame: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for FrameVisitor<'_, T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(Fields { map, current: Cow::Borrowed("") })).map_err(
            |error| {
                // The parser's own error can't hold ours, so ours goes around it.
                *self.fault = Some(error);
                A::Error::custom("field")
            },
        )
    }
}

/// The fields of a frame without `op`, with the name of the present one at hand for errors.
struct Fields<'de, A> {
    map: A,
    current: Cow<'de, str>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'de, A> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        while let Some(Text(key)) = self.map.next_key().map_err(DecodeError::malformed)? {
            if key == "op" {
                self.map.next_value::<IgnoredAny>().map_err(DecodeError::malformed)?;
                continue;
            }
            self.current = key.clone();
            return seed.deserialize(CowStrDeserializer::new(key)).map(Some);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        self.map.next_value_seed(seed).map_err(|error| DecodeError::field(&self.current, error))
    }
}
