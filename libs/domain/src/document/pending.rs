//! Ops that were taken and wait to be written: joined where they may be, so that a hundred words are one op.

use std::mem;

use super::op::{Op, ops_to_json};
use super::size;

/// How many appends are looked at for one to the same place. An agent that writes several items at once, a word here and
/// a word there, has a few of them.
const LOOKBACK: usize = 8;

/// Ops in the order in which they were taken.
///
/// What they do to the document that the first of them was taken for is the same as without joining:
///
/// * An append is joined with one to the same place if there are only appends between. Appends move nothing, so what lies
///   between works elsewhere and finds its place as before.
/// * A replacement right behind one of the same place makes that one needless.
/// * A `test` that held, and an append of nothing, change nothing and are left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Pending {
    ops: Vec<Op>,
    /// Of all ops as JSON, with commas, without brackets.
    bytes: usize,
}

impl Pending {
    /// Adds an op that was taken.
    pub fn push(&mut self, op: Op) {
        match (op, self.ops.last_mut()) {
            (Op::Test { .. }, _) => {}
            (Op::Append { value, .. }, _) if value.is_empty() => {}
            (Op::Append { path, value }, _) => match self.append_to(&path) {
                Some(text) => {
                    text.push_str(&value);
                    self.bytes += size::escaped_len(&value);
                }
                None => self.keep(Op::Append { path, value }),
            },
            (Op::Replace { path, value }, Some(Op::Replace { path: last, value: old })) if *last == path => {
                self.bytes = self.bytes + size::json_len(&value) - size::json_len(old);
                *old = value;
            }
            (op, _) => self.keep(op),
        }
    }

    fn append_to(&mut self, place: &super::Pointer) -> Option<&mut String> {
        self.ops
            .iter_mut()
            .rev()
            .take(LOOKBACK)
            .map_while(|op| match op {
                Op::Append { path, value } => Some((path, value)),
                _ => None,
            })
            .find_map(|(path, value)| (path == place).then_some(value))
    }

    fn keep(&mut self, op: Op) {
        self.bytes += size::json_len(&op) + usize::from(!self.ops.is_empty());
        self.ops.push(op);
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// The ops.
    #[must_use]
    pub fn ops(&self) -> &[Op] {
        &self.ops
    }

    /// The size of the ops as JSON, in bytes. Where it is more than that of the document, the document is the better
    /// thing to write.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes + "[]".len()
    }

    /// The ops as JSON, for the database and for clients.
    #[must_use]
    pub fn to_json(&self) -> String {
        ops_to_json(&self.ops)
    }

    /// Takes all ops out.
    pub fn take(&mut self) -> Vec<Op> {
        mem::take(self).ops
    }
}

impl Extend<Op> for Pending {
    fn extend<T: IntoIterator<Item = Op>>(&mut self, ops: T) {
        ops.into_iter().for_each(|op| self.push(op));
    }
}

/// Joins the ops of a list the way [`Pending`] does.
#[must_use]
pub fn coalesce(ops: Vec<Op>) -> Vec<Op> {
    let mut pending = Pending::default();
    pending.extend(ops);
    pending.take()
}
