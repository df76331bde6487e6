//! The fast path: an event straight from borrowed parts to bytes.
//!
//! An event is encoded once per encoding and node, and the same bytes go to every connection. Body
//! and names are copied once, nothing is parsed. [`crate::encode_server`] comes here too, so there is
//! one way to write an event.

use bytes::{BufMut, Bytes, BytesMut};
use prost::encoding::{WireType, encode_key, encode_varint, encoded_len_varint};
use uuid::Uuid;
use uuid::fmt::Hyphenated;

use super::Encoding;
use crate::frame::Event;

/// An event in borrowed parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventParts<'a> {
    /// The name of its stream.
    pub stream: &'a str,
    /// Its number in the stream.
    pub seq: u64,
    /// Its id.
    pub id: Uuid,
    /// What happened.
    pub kind: &'a str,
    /// When, RFC 3339 in UTC.
    pub at: &'a str,
    /// `user`, `agent` or `system`.
    pub sender_kind: &'a str,
    /// Who; none for the system.
    pub sender_id: Option<Uuid>,
    /// The body: must be one JSON value. It is not checked, what is no JSON makes a frame that is none.
    pub data: &'a str,
}

impl<'a> From<&'a Event> for EventParts<'a> {
    fn from(event: &'a Event) -> Self {
        Self {
            stream: &event.stream,
            seq: event.seq,
            id: event.id,
            kind: &event.kind,
            at: &event.at,
            sender_kind: &event.sender.kind,
            sender_id: event.sender.id,
            data: event.data.get(),
        }
    }
}

impl EventParts<'_> {
    /// The bytes of the frame `event`.
    #[must_use]
    pub fn encode(&self, encoding: Encoding) -> Bytes {
        let frame = match encoding {
            Encoding::Json => self.json(),
            Encoding::Proto => self.proto(),
        };
        super::as_released(frame, encoding)
    }

    /// The body without the white space around it, as a parser would give it back.
    fn body(&self) -> &str {
        self.data.trim_matches([' ', '\t', '\r', '\n'])
    }

    fn json(&self) -> Bytes {
        // Names, quotes and ids; more is only needed when names have to be escaped.
        let size = 240 + self.stream.len() + self.kind.len() + self.at.len() + self.body().len();
        let mut out = BytesMut::with_capacity(size);
        let mut id = Uuid::encode_buffer();
        out.put_slice(br#"{"op":"event","stream":"#);
        put_json_string(&mut out, self.stream);
        out.put_slice(br#","seq":"#);
        put_decimal(&mut out, self.seq);
        out.put_slice(br#","id":""#);
        out.put_slice(self.id.hyphenated().encode_lower(&mut id).as_bytes());
        out.put_slice(br#"","kind":"#);
        put_json_string(&mut out, self.kind);
        out.put_slice(br#","at":"#);
        put_json_string(&mut out, self.at);
        out.put_slice(br#","sender":{"kind":"#);
        put_json_string(&mut out, self.sender_kind);
        match self.sender_id {
            Some(sender) => {
                out.put_slice(br#","id":""#);
                out.put_slice(sender.hyphenated().encode_lower(&mut id).as_bytes());
                out.put_slice(br#""},"data":"#);
            }
            None => out.put_slice(br#","id":null},"data":"#),
        }
        out.put_slice(self.body().as_bytes());
        out.put_u8(b'}');
        out.freeze()
    }

    /// Field by field what prost writes for `ServerFrame { event }`: numbers in order, empty ones left out.
    fn proto(&self) -> Bytes {
        let sender = string_len(self.sender_kind) + self.sender_id.map_or(0, |_| 2 + Hyphenated::LENGTH);
        let event = string_len(self.stream)
            + if self.seq == 0 { 0 } else { 1 + encoded_len_varint(self.seq) }
            + (2 + Hyphenated::LENGTH)
            + string_len(self.kind)
            + string_len(self.at)
            + (1 + encoded_len_varint(sender as u64) + sender)
            + string_len(self.body());
        let mut out = BytesMut::with_capacity(1 + encoded_len_varint(event as u64) + event);
        let mut id = Uuid::encode_buffer();
        put_message(&mut out, 3, event);
        put_string(&mut out, 1, self.stream);
        if self.seq != 0 {
            encode_key(2, WireType::Varint, &mut out);
            encode_varint(self.seq, &mut out);
        }
        put_string(&mut out, 3, self.id.hyphenated().encode_lower(&mut id));
        put_string(&mut out, 4, self.kind);
        put_string(&mut out, 5, self.at);
        put_message(&mut out, 6, sender);
        put_string(&mut out, 1, self.sender_kind);
        if let Some(sender) = self.sender_id {
            put_string(&mut out, 2, sender.hyphenated().encode_lower(&mut id));
        }
        put_string(&mut out, 7, self.body());
        out.freeze()
    }
}

fn put_decimal(out: &mut BytesMut, number: u64) {
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    let mut rest = number;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.put_slice(&digits[start..]);
}

/// Names of streams, kinds and times have nothing to escape, so they are looked through once and copied.
fn put_json_string(out: &mut BytesMut, text: &str) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.put_u8(b'"');
        out.put_slice(text.as_bytes());
        out.put_u8(b'"');
    } else {
        // `Value` writes itself without a way to fail.
        out.put_slice(serde_json::Value::from(text).to_string().as_bytes());
    }
}

fn string_len(text: &str) -> usize {
    if text.is_empty() { 0 } else { 1 + encoded_len_varint(text.len() as u64) + text.len() }
}

/// All numbers of fields here are below 16, so a key is one byte: [`string_len`] counts on it.
fn put_message(out: &mut BytesMut, field: u32, len: usize) {
    encode_key(field, WireType::LengthDelimited, out);
    encode_varint(len as u64, out);
}

fn put_string(out: &mut BytesMut, field: u32, text: &str) {
    if !text.is_empty() {
        put_message(out, field, text.len());
        out.put_slice(text.as_bytes());
    }
}
