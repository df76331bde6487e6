//! How large values are as JSON, and how deep.

use std::io;

use serde::Serialize;
use serde_json::Value;

/// Size and depth of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Measure {
    /// Bytes as JSON without white space.
    pub(super) bytes: usize,
    /// Levels of objects and arrays; 0 for what is neither.
    pub(super) height: usize,
}

/// Walks through a value.
pub(super) fn measure(value: &Value) -> Measure {
    Measure { bytes: json_len(value), height: height(value) }
}

/// How many bytes this is as JSON: written by the same serializer as the document, so that the two never disagree.
pub(super) fn json_len(value: &(impl Serialize + ?Sized)) -> usize {
    let mut counter = Counter(0);
    // Neither values nor the counter can fail; an endless size would be refused, not let through.
    serde_json::to_writer(&mut counter, value).map_or(usize::MAX, |()| counter.0)
}

/// How many bytes text adds to a string that is in a document: its length with escapes, without quotes.
pub(super) fn escaped_len(text: &str) -> usize {
    json_len(text) - 2
}

/// Whether text or a name in it has a NUL.
pub(super) fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(elements) => elements.iter().any(has_nul),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}

fn height(value: &Value) -> usize {
    match value {
        Value::Array(elements) => 1 + elements.iter().map(height).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(height).max().unwrap_or(0),
        _ => 0,
    }
}

struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
