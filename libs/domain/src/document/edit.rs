//! The ops at work: what each one changes, counts and leaves behind to be taken back.

use std::mem;

use serde_json::Value;

use super::equal::same;
use super::op::{Fault, Op, shown};
use super::place::{Taken, charge, place, take};
use super::pointer::{Pointer, find, find_mut};
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
