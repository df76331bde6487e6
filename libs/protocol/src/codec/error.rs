//! What is wrong with bytes that should be a frame.

use std::fmt;

use serde::de;

/// The most characters of a message that are kept: it may quote what was sent.
const MAX_MESSAGE: usize = 200;

/// What sort of fault it is. Which of them end a connection (4001) and which are answered by `error`, the
/// gateway decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DecodeErrorKind {
    /// Not JSON, not an object, not protobuf.
    Malformed,
    /// There is no `op`, or it is not text.
    NoOp,
    /// An `op` that this release does not know.
    UnknownOp,
    /// A field is missing, unknown, given twice, of the wrong type or out of range.
    Field,
}

/// Why bytes are not a frame. The text is for the one who sent them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// What sort of fault it is.
    pub kind: DecodeErrorKind,
    /// The `op` of the frame, if it was found.
    pub op: Option<String>,
    /// The field that is wrong, if it is one.
    pub field: Option<String>,
    /// What is wrong with it.
    pub message: String,
}

impl DecodeError {
    pub(super) fn malformed(message: impl fmt::Display) -> Self {
        Self::new(DecodeErrorKind::Malformed, None, message)
    }

    pub(super) fn no_op(message: impl fmt::Display) -> Self {
        Self::new(DecodeErrorKind::NoOp, None, message)
    }

    pub(super) fn unknown_op(op: &str) -> Self {
        let message = "is not an op of this protocol version";
        Self { op: Some(shorten(op)), ..Self::new(DecodeErrorKind::UnknownOp, None, message) }
    }

    pub(super) fn field(field: &str, message: impl fmt::Display) -> Self {
        Self::new(DecodeErrorKind::Field, Some(field), message)
    }

    pub(super) fn in_op(self, op: &str) -> Self {
        Self { op: Some(op.to_owned()), ..self }
    }

    fn new(kind: DecodeErrorKind, field: Option<&str>, message: impl fmt::Display) -> Self {
        Self { kind, op: None, field: field.map(shorten), message: shorten(&message.to_string()) }
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_MESSAGE) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(op) = &self.op {
            write!(f, "{op:?}")?;
            // "\"x\" is not an op" reads on, "\"send\": body: is missing" needs the colon.
            f.write_str(if self.kind == DecodeErrorKind::UnknownOp { " " } else { ": " })?;
        }
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for DecodeError {}

/// So that what serde finds wrong with the fields of a frame arrives with the name of the field.
impl de::Error for DecodeError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(DecodeErrorKind::Field, None, message)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::field(field, "is missing")
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        if expected.is_empty() {
            return Self::field(field, "is not a field of this frame, which has none");
        }
        Self::field(
            field,
            format_args!("is not a field of this frame; its fields are {}", expected.join(", ")),
        )
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self::field(field, "is given twice")
    }
}
