//! The ops at work: what each one changes, counts and leaves behind to be taken back.

use std::mem;

use serde_json::{Map, Number, Value};

use super::op::{Fault, Op, shown};
use super::pointer::{Pointer, find, find_mut, index};
use super::{MAX_DEPTH, shape, size};
use crate::error::Invalid;

/// The changes of one call to a document. Whoever gets an error from it must [`undo`](Edits::undo) all of them.
pub(super) struct Edits<'d, 'o> {
    root: &'d mut Value,
    bytes: usize,
    /// How many bytes may still be moved and copied.
    work: usize,
    done: Vec<Done<'o>>,
}

/// What was done, with all that is needed to take it back.
enum Done<'o> {
    /// A value is there that was not there.
    Added(&'o Pointer),
    /// A value is there in the place of this one.
    Replaced(&'o Pointer, Value),
    /// This value is not there any more.
    Removed(&'o Pointer, Value),
    /// What was at `from` is at `path`, in the place of `replaced` if something was there.
    Moved { from: &'o Pointer, path: &'o Pointer, replaced: Option<Value> },
    /// Text is longer than this.
    Appended(&'o Pointer, usize),
}

impl<'d, 'o> Edits<'d, 'o> {
    /// Begins a call on a document of `bytes` bytes.
    pub(super) fn new(root: &'d mut Value, bytes: usize, work: usize) -> Self {
        Self { root, bytes, work, done: Vec::new() }
    }

    /// The size of the document now.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Checks what the ops have made of a document of `before` bytes.
    pub(super) fn check(&self, ops: &[Op], before: usize, max_bytes: usize) -> Result<(), Invalid> {
        if self.bytes > max_bytes && self.bytes > before {
            let given = format!("a document of {} bytes", self.bytes);
            return Err(Invalid::described("doc", given, format!("at most {max_bytes} bytes")));
        }
        if ops.iter().any(shape::concerns) { shape::check(self.root) } else { Ok(()) }
    }

    /// Applies one op.
    pub(super) fn apply(&mut self, op: &'o Op) -> Result<(), Fault> {
        match op {
            Op::Add { path, value } => {
                let bytes = fit_new(value, path)?;
                self.add(path, value.clone(), bytes)
            }
            Op::Remove { path } => self.remove(path),
            Op::Replace { path, value } => self.replace(path, value),
            Op::Move { from, path } => self.relocate(from, path),
            Op::Copy { from, path } => self.copy(from, path),
            Op::Test { path, value } => self.test(path, value),
            Op::Append { path, value } => self.append(path, value),
        }
    }

    fn add(&mut self, path: &'o Pointer, value: Value, bytes: usize) -> Result<(), Fault> {
        let place = place(self.root, path)?;
        charge(&mut self.work, place.shifts())?;
        self.bytes += place.overhead() + bytes;
        self.done.push(match place.put(value) {
            Some(old) => {
                self.bytes -= size::json_len(&old);
                Done::Replaced(path, old)
            }
            None => Done::Added(path),
        });
        Ok(())
    }

    fn remove(&mut self, path: &'o Pointer) -> Result<(), Fault> {
        there("path", self.root, path)?;
        let taken = take(self.root, path, &mut self.work)?;
        self.bytes -= taken.overhead + size::json_len(&taken.value);
        self.done.push(Done::Removed(path, taken.value));
        Ok(())
    }

    fn replace(&mut self, path: &'o Pointer, value: &Value) -> Result<(), Fault> {
        let bytes = fit_new(value, path)?;
        let slot = find_mut(self.root, path.tokens()).ok_or_else(|| missing("path", path))?;
        let old = mem::replace(slot, value.clone());
        self.bytes = self.bytes + bytes - size::json_len(&old);
        self.done.push(Done::Replaced(path, old));
        Ok(())
    }

    fn relocate(&mut self, from: &'o Pointer, path: &'o Pointer) -> Result<(), Fault> {
        let value = there("from", self.root, from)?;
        if from == path {
            return Ok(());
        }
        if from.is_above(path) {
            return Err(Fault::new("path", shown(&path.to_string()), "a place outside of what is moved"));
        }
        // Only further down can it get too deep, so only then it is walked through.
        if path.tokens().len() > from.tokens().len() {
            charge(&mut self.work, fit("path", value, path)?)?;
        }
        let Taken { value, overhead } = take(self.root, from, &mut self.work)?;
        self.bytes -= overhead;
        let place = match place(self.root, path) {
            Ok(place) => place,
            Err(fault) => {
                self.done.push(Done::Removed(from, value));
                return Err(fault);
            }
        };
        self.bytes += place.overhead();
        let shifts = place.shifts();
        let replaced = place.put(value);
        self.bytes -= replaced.as_ref().map_or(0, size::json_len);
        self.done.push(Done::Moved { from, path, replaced });
        charge(&mut self.work, shifts)
    }

    fn copy(&mut self, from: &Pointer, path: &'o Pointer) -> Result<(), Fault> {
        let value = there("from", self.root, from)?;
        let bytes = fit("path", value, path)?;
        charge(&mut self.work, bytes)?;
        let value = value.clone();
        self.add(path, value, bytes)
    }

    fn test(&self, path: &Pointer, value: &Value) -> Result<(), Fault> {
        if same(there("path", self.root, path)?, value) {
            return Ok(());
        }
        Err(Fault::new("value", shown(&value.to_string()), "what is there, which is something else"))
    }

    fn append(&mut self, path: &'o Pointer, value: &str) -> Result<(), Fault> {
        if value.contains('\0') {
            return Err(Fault::new("value", "a NUL character", "text without NUL"));
        }
        let slot = find_mut(self.root, path.tokens()).ok_or_else(|| missing("path", path))?;
        let Value::String(text) = slot else {
            return Err(Fault::new("path", shown(&path.to_string()), "the place of text"));
        };
        self.done.push(Done::Appended(path, text.len()));
        text.push_str(value);
        self.bytes += size::escaped_len(value);
        Ok(())
    }

    /// Takes everything back, the last first, so that each pointer finds what it found then.
    pub(super) fn undo(self) {
        for done in self.done.into_iter().rev() {
            take_back(self.root, done);
        }
    }
}

fn take_back(root: &mut Value, done: Done<'_>) {
    match done {
        Done::Added(path) => {
            drop(take_freely(root, path));
        }
        Done::Replaced(path, old) => {
            swap(root, path, old);
        }
        Done::Removed(path, value) => put_back(root, path, value),
        Done::Moved { from, path, replaced } => {
            let value = match replaced {
                Some(old) => swap(root, path, old),
                None => take_freely(root, path),
            };
            if let Some(value) = value {
                put_back(root, from, value);
            }
        }
        Done::Appended(path, len) => {
            if let Some(Value::String(text)) = find_mut(root, path.tokens()) {
                text.truncate(len);
            }
        }
    }
}

fn swap(root: &mut Value, path: &Pointer, value: Value) -> Option<Value> {
    find_mut(root, path.tokens()).map(|slot| mem::replace(slot, value))
}

fn put_back(root: &mut Value, path: &Pointer, value: Value) {
    if let Ok(place) = place(root, path) {
        place.put(value);
    }
}

fn take_freely(root: &mut Value, path: &Pointer) -> Option<Value> {
    let mut work = usize::MAX;
    take(root, path, &mut work).ok().map(|taken| taken.value)
}

/// Where a value may be added.
enum Place<'v> {
    Root(&'v mut Value),
    Member(&'v mut Map<String, Value>, &'v str),
    Element(&'v mut Vec<Value>, usize),
}

impl Place<'_> {
    /// Puts a value there, and gives the one that was there instead of it.
    fn put(self, value: Value) -> Option<Value> {
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
    fn overhead(&self) -> usize {
        match self {
            Self::Root(_) => 0,
            Self::Member(members, name) if members.contains_key(*name) => 0,
            Self::Member(members, name) => name_len(name) + comma_len(members.is_empty()),
            Self::Element(elements, _) => comma_len(elements.is_empty()),
        }
    }

    /// How many elements make room.
    fn shifts(&self) -> usize {
        match self {
            Self::Element(elements, index) => elements.len() - index,
            _ => 0,
        }
    }
}

fn place<'v>(root: &'v mut Value, path: &'v Pointer) -> Result<Place<'v>, Fault> {
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
struct Taken {
    value: Value,
    /// The bytes that went with it: its name and a comma.
    overhead: usize,
}

/// Takes out what is there. Index `-` is the last element: the one that an add with `-` has put there.
fn take(root: &mut Value, path: &Pointer, work: &mut usize) -> Result<Taken, Fault> {
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

fn there<'v>(member: &'static str, root: &'v Value, path: &Pointer) -> Result<&'v Value, Fault> {
    find(root, path.tokens()).ok_or_else(|| missing(member, path))
}

fn missing(member: &'static str, path: &Pointer) -> Fault {
    Fault::new(member, shown(&path.to_string()), "a place that is there")
}

/// Checks a value of an op, and gives its size.
fn fit_new(value: &Value, path: &Pointer) -> Result<usize, Fault> {
    if size::has_nul(value) {
        return Err(Fault::new("value", "a NUL character", "text without NUL"));
    }
    fit("value", value, path)
}

/// Checks that a value is not too deep for a place, and gives its size.
fn fit(member: &'static str, value: &Value, path: &Pointer) -> Result<usize, Fault> {
    let measured = size::measure(value);
    let levels = path.tokens().len() + measured.height;
    if levels > MAX_DEPTH {
        let given = format!("what makes {levels} levels");
        return Err(Fault::new(member, given, format!("at most {MAX_DEPTH} levels")));
    }
    Ok(measured.bytes)
}

fn charge(work: &mut usize, bytes: usize) -> Result<(), Fault> {
    *work = work.checked_sub(bytes).ok_or_else(|| {
        Fault::new("", "a call that moves and copies this much", "less of it; write the values instead")
    })?;
    Ok(())
}

/// Equal as RFC 6902 has it: numbers by value (1 is 1.0), objects in any order.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || matches!((whole(left), whole(right)), (Some(left), Some(right)) if left == right)
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

/// The whole number that this is. Whole numbers above 64 bits are floats on both sides, and equal as such.
fn whole(number: &Number) -> Option<i128> {
    if let Some(number) = number.as_i128() {
        return Some(number);
    }
    number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e20).map(|float| float as i128)
}
