//! Places where values are put and taken out, and what comes and goes with them: names, commas, elements that shift.

use std::mem;

use serde_json::{Map, Value};

use super::op::{Fault, shown};
use super::pointer::{Pointer, find_mut, index};
use super::size;

/// Where a value may be added.
pub(super) enum Place<'v> {
    Root(&'v mut Value),
    Member(&'v mut Map<String, Value>, &'v str),
    Element(&'v mut Vec<Value>, usize),
}

impl Place<'_> {
    /// Puts a value there, and gives the one that was there instead of it.
    pub(super) fn put(self, value: Value) -> Option<Value> {
        match self {
            Self::Root(root) => Some(mem::replace(root, value)),
            Self::Member(members, name) => members.insert(name.to_owned(), value),
            Self::Element(elements, index) => {
                elements.insert(index, value);
                None
            }
        }
    }

    /// How many bytes come with the value: its name and a comma, if it does not take the place of another.
    pub(super) fn overhead(&self) -> usize {
        match self {
            Self::Root(_) => 0,
            Self::Member(members, name) if members.contains_key(*name) => 0,
            Self::Member(members, name) => name_len(name) + comma_len(members.is_empty()),
            Self::Element(elements, _) => comma_len(elements.is_empty()),
        }
    }

    /// How many elements make room.
    pub(super) fn shifts(&self) -> usize {
        match self {
            Self::Element(elements, index) => elements.len() - index,
            _ => 0,
        }
    }
}

pub(super) fn place<'v>(root: &'v mut Value, path: &'v Pointer) -> Result<Place<'v>, Fault> {
    let Some((last, above)) = path.tokens().split_last() else { return Ok(Place::Root(root)) };
    match find_mut(root, above) {
        Some(Value::Object(members)) => Ok(Place::Member(members, last)),
        Some(Value::Array(elements)) => {
            let index = if last == "-" { Some(elements.len()) } else { index(last) };
            match index.filter(|index| *index <= elements.len()) {
                Some(index) => Ok(Place::Element(elements, index)),
                None => Err(Fault::new(
                    "path",
                    shown(&path.to_string()),
                    format!("an index from 0 to {}, or -", elements.len()),
                )),
            }
        }
        _ => Err(Fault::new("path", shown(&path.to_string()), "a place in an object or array that is there")),
    }
}

/// A value that was taken out.
pub(super) struct Taken {
    pub(super) value: Value,
    /// The bytes that went with it: its name and a comma.
    pub(super) overhead: usize,
}

/// Takes out what is there. Index `-` is the last element: the one that an add with `-` has put there.
pub(super) fn take(root: &mut Value, path: &Pointer, work: &mut usize) -> Result<Taken, Fault> {
    let refuse = || Fault::new("path", shown(&path.to_string()), "a part of the document that is there");
    let (last, above) = path.tokens().split_last().ok_or_else(refuse)?;
    match find_mut(root, above) {
        Some(Value::Object(members)) => {
            let value = members.remove(last).ok_or_else(refuse)?;
            Ok(Taken { value, overhead: name_len(last) + comma_len(members.is_empty()) })
        }
        Some(Value::Array(elements)) => {
            let index = if last == "-" { elements.len().checked_sub(1) } else { index(last) };
            let index = index.filter(|index| *index < elements.len()).ok_or_else(refuse)?;
            charge(work, elements.len() - index)?;
            let value = elements.remove(index);
            Ok(Taken { value, overhead: comma_len(elements.is_empty()) })
        }
        _ => Err(refuse()),
    }
}

fn name_len(name: &str) -> usize {
    size::json_len(name) + ":".len()
}

/// A value that is alone needs no comma.
fn comma_len(alone: bool) -> usize {
    usize::from(!alone)
}

/// Takes from what a call may still move and copy, in bytes; elements that shift count as one each.
///
/// # Errors
///
/// When that much is not left.
pub(super) fn charge(work: &mut usize, bytes: usize) -> Result<(), Fault> {
    *work = work.checked_sub(bytes).ok_or_else(|| {
        Fault::new("", "a call that moves and copies this much", "less of it; write the values instead")
    })?;
    Ok(())
}
