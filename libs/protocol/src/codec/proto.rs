//! Frames as protobuf: the messages generated from `gateway.proto`, and their way to and from our types.
//!
//! Protobuf leaves empty fields out, so a missing required field shows as an empty one: an id of no
//! characters is refused by name, an empty body is left to the rules of upper layers.

mod agents;
mod client;
mod presence;
mod ready;
mod server;

#[allow(clippy::all, clippy::pedantic, unreachable_pub, unused_qualifications, missing_docs)]
pub(super) mod pb {
    include!(concat!(env!("OUT_DIR"), "/switchboard.v1.rs"));
}

use std::fmt;

use bytes::Bytes;
use prost::Message;
use uuid::Uuid;

use super::DecodeError;
use crate::frame::{ClientFrame, RawJson, ServerFrame};

pub(super) fn encode_server(frame: &ServerFrame) -> Bytes {
    pb::ServerFrame { frame: Some(frame.into()) }.encode_to_vec().into()
}

pub(super) fn encode_client(frame: &ClientFrame) -> Bytes {
    pb::ClientFrame { frame: Some(frame.into()) }.encode_to_vec().into()
}

pub(super) fn decode_server(bytes: &[u8]) -> Result<ServerFrame, DecodeError> {
    let message = pb::ServerFrame::decode(bytes).map_err(not_protobuf)?;
    let Some(frame) = message.frame else { return Err(no_frame(bytes)) };
    frame.try_into()
}

pub(super) fn decode_client(bytes: &[u8]) -> Result<ClientFrame, DecodeError> {
    let message = pb::ClientFrame::decode(bytes).map_err(not_protobuf)?;
    let Some(frame) = message.frame else { return Err(no_frame(bytes)) };
    frame.try_into()
}

fn not_protobuf(error: impl fmt::Display) -> DecodeError {
    DecodeError::malformed(format_args!("not protobuf: {error}"))
}

/// No frame that we know: either one of a newer release, which has a number, or nothing at all.
fn no_frame(mut bytes: &[u8]) -> DecodeError {
    match prost::encoding::decode_key(&mut bytes) {
        Ok((number, _)) => DecodeError::unknown_op(&format!("field {number}")),
        Err(_) => DecodeError::no_op("there is no frame in the message"),
    }
}

fn id(field: &str, text: &str) -> Result<Uuid, DecodeError> {
    text.parse().map_err(|error| DecodeError::field(field, error))
}

fn optional_id(field: &str, text: Option<&String>) -> Result<Option<Uuid>, DecodeError> {
    text.map(|text| id(field, text)).transpose()
}

/// JSON in a string; no characters at all are no JSON, so they show that the field was left out.
fn json(field: &str, text: String) -> Result<RawJson, DecodeError> {
    if text.is_empty() {
        return Err(DecodeError::field(field, "is missing"));
    }
    RawJson::new(text).map_err(|error| DecodeError::field(field, error))
}

fn optional_json(field: &str, text: Option<String>) -> Result<Option<RawJson>, DecodeError> {
    text.map(|text| json(field, text)).transpose()
}

fn in_op(op: &'static str) -> impl Fn(DecodeError) -> DecodeError {
    move |error| error.in_op(op)
}
