//! Ops: one change of a document each.

use serde::de::Deserializer;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::pointer::Pointer;
use crate::error::Invalid;

const NAMES: &str = "add, remove, replace, move, copy, test or append";

/// A change of a document: those of RFC 6902, and `append`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Op {
    /// Puts a value there: a member (replacing one of that name), or an element before that index; index `-` is the end.
    Add {
        /// Where.
        path: Pointer,
        /// What.
        value: Value,
    },
    /// Takes out what is there.
    Remove {
        /// Where.
        path: Pointer,
    },
    /// Puts a value in the place of what is there.
    Replace {
        /// Where.
        path: Pointer,
        /// What.
        value: Value,
    },
    /// Takes out what is at `from`, then adds it at `path`.
    Move {
        /// From where.
        from: Pointer,
        /// Where to.
        path: Pointer,
    },
    /// Adds what is at `from` at `path` too.
    Copy {
        /// From where.
        from: Pointer,
        /// Where to.
        path: Pointer,
    },
    /// Changes nothing; the call is refused unless this value is there.
    Test {
        /// Where.
        path: Pointer,
        /// What.
        value: Value,
    },
    /// Puts text behind the text that is there.
    Append {
        /// Where.
        path: Pointer,
        /// What.
        value: String,
    },
}

/// Reads a list of ops. Unknown members are refused: a misspelt one would silently do something else.
///
/// # Errors
///
/// Text that is no JSON list, and the first op that is none: `ops[3].path`.
pub fn parse_ops(text: &str) -> Result<Vec<Op>, Invalid> {
    let raw: Vec<&RawValue> = serde_json::from_str(text)
        .map_err(|error| Invalid::described("ops", error.to_string(), "a list of ops"))?;
    raw.iter()
        .enumerate()
        .map(|(position, raw)| parse(raw.get()).map_err(|fault| fault.at(position)))
        .collect()
}

/// Writes ops the way [`parse_ops`] reads them.
#[must_use]
pub fn ops_to_json(ops: &[Op]) -> String {
    // Pointers, values and text can't fail to be JSON. An empty text would be refused by every reader.
    serde_json::to_string(ops).unwrap_or_default()
}

/// Why one op was refused.
#[derive(Debug)]
pub(super) struct Fault {
    member: &'static str,
    given: String,
    allowed: String,
}

impl Fault {
    /// An error about a member of an op; none if `member` is empty.
    pub(super) fn new(member: &'static str, given: impl Into<String>, allowed: impl Into<String>) -> Self {
        Self { member, given: given.into(), allowed: allowed.into() }
    }

    /// The same as an error about the list.
    pub(super) fn at(self, position: usize) -> Invalid {
        let dot = if self.member.is_empty() { "" } else { "." };
        Invalid::described("ops", self.given, self.allowed)
            .inside(format!("[{position}]{dot}{}", self.member))
    }
}

/// An op before its members are looked at.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    #[serde(default, deserialize_with = "present")]
    op: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    path: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    from: Option<Value>,
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
}

/// A member that is `null` is there, unlike one that is not.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

fn parse(text: &str) -> Result<Op, Fault> {
    const OBJECT: &str = "an object of op, path, from and value";
    // Serde would take a list for an object without names.
    if !text.starts_with('{') {
        return Err(Fault::new("", shown(text), OBJECT));
    }
    let mut members: Members =
        serde_json::from_str(text).map_err(|error| Fault::new("", error.to_string(), OBJECT))?;
    let name = string("op", members.op.take(), NAMES)?;
    let path = pointer("path", members.path.take())?;
    let op = match name.as_str() {
        "add" => Op::Add { path, value: members.needed_value()? },
        "remove" => Op::Remove { path },
        "replace" => Op::Replace { path, value: members.needed_value()? },
        "move" => Op::Move { from: pointer("from", members.from.take())?, path },
        "copy" => Op::Copy { from: pointer("from", members.from.take())?, path },
        "test" => Op::Test { path, value: members.needed_value()? },
        "append" => Op::Append { path, value: string("value", members.value.take(), "text")? },
        _ => return Err(Fault::new("op", shown(&name), NAMES)),
    };
    members.none_left(&name)?;
    Ok(op)
}

impl Members {
    fn needed_value(&mut self) -> Result<Value, Fault> {
        self.value.take().ok_or_else(|| Fault::new("value", "nothing", "any JSON"))
    }

    fn none_left(&self, name: &str) -> Result<(), Fault> {
        let left = if self.from.is_some() {
            "from"
        } else if self.value.is_some() {
            "value"
        } else {
            return Ok(());
        };
        Err(Fault::new(left, "one", format!("none with op {name}")))
    }
}

fn pointer(member: &'static str, given: Option<Value>) -> Result<Pointer, Fault> {
    let text = string(member, given, "a JSON pointer")?;
    Pointer::parse(&text).map_err(|allowed| Fault::new(member, shown(&text), allowed))
}

fn string(member: &'static str, given: Option<Value>, allowed: &str) -> Result<String, Fault> {
    match given {
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(Fault::new(member, shown(&other.to_string()), allowed)),
        None => Err(Fault::new(member, "nothing", allowed)),
    }
}

/// Text in quotes, shortened.
pub(super) fn shown(text: &str) -> String {
    Invalid::new("", text, "").given
}
