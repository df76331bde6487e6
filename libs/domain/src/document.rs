//! The document of a run, the *live box*: what an agent shows of its work while it works.
//!
//! ```json
//! {"items": [{"id": "a1", "type": "text", "text": "Looking at the logs"}, {"id": "t1", "type": "tool", "state": "done"}]}
//! ```
//!
//! The root is an object and `items` an array of objects, each with an `id` that no other item has and a `type`: `text`,
//! `reasoning`, `tool` or `status`. Items of the first two have a string `text`. Everything else is free, but for NUL
//! (PostgreSQL text can't hold it) and more than [`MAX_DEPTH`] levels.
//!
//! Agents change it by [`Op`]s: JSON Patch (RFC 6902) with one addition, `append`, because nearly all that an agent does
//! is to put a few bytes onto a long text. A *call* is one list of ops. It is taken as a whole or not at all, and the
//! rules above hold after it, not within: what compares two documents may well give one id twice on its way.
//!
//! **Atomic by undo, not by copy.** Each op leaves behind how to take it back: an append the length the text had, a
//! replacement the value that was there, moved and not copied. A call that is refused is undone from its end. So an
//! append to a document of 1 MiB costs what its own bytes cost.
//!
//! **Size is exact and is never measured as a whole.** The document knows how many bytes it has as JSON; each op adds
//! what it writes, separators and escapes included, and subtracts what it removes. What is removed was written before,
//! so the work is in proportion to the ops. Only `copy`, `move` and arrays that shift can do much with few bytes; what a
//! call does by them is bounded by four times the size that is allowed.
//!
//! **Replay is certain.** What was taken is kept by [`Pending`], which joins ops that may be joined, and is applied later
//! by [`Document::replay`] to the document it was written for: nothing in an op depends on a limit that may have changed
//! in between, and the ops of several calls one after another lead where the calls led.
//!
//! The crate `json-patch` knows no append, and neither counts bytes nor bounds what copies do.

mod edit;
mod equal;
mod op;
mod pending;
mod place;
mod pointer;
mod shape;
mod size;

#[cfg(test)]
mod rfc6902;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use op::{Op, ops_to_json, parse_ops};
pub use pending::{Pending, coalesce};
pub use pointer::Pointer;

use crate::error::Invalid;
use edit::Edits;

/// How many levels of objects and arrays a document may have.
pub const MAX_DEPTH: usize = 64;

/// A fresh document as JSON.
pub const EMPTY: &str = r#"{"items":[]}"#;

/// Whether JSON holds a NUL character, which PostgreSQL can't keep. It can only come as an escape, which almost no text has.
#[must_use]
pub fn has_nul(json: &str) -> bool {
    json.contains(r"\u0000") && serde_json::from_str(json).is_ok_and(|value| size::has_nul(&value))
}

/// How much of a call may be moved and copied, in multiples of the size that is allowed.
const WORK: usize = 4;

/// The document of a run; it always keeps the rules of this module.
#[derive(Debug, Clone, PartialEq)]
pub struct Document {
    root: Value,
    bytes: usize,
}

impl Default for Document {
    fn default() -> Self {
        Self::empty()
    }
}

impl Document {
    /// A fresh document: no items.
    #[must_use]
    pub fn empty() -> Self {
        Self { root: serde_json::json!({ "items": [] }), bytes: EMPTY.len() }
    }

    /// Reads a document, as [`Document::to_json`] wrote it or as somebody gives it.
    ///
    /// # Errors
    ///
    /// Text that is no JSON, or is not a document; the place is named, such as `doc.items[3].type`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let root: Value = serde_json::from_str(text)
            .map_err(|error| Invalid::described("doc", error.to_string(), "JSON"))?;
        let measured = size::measure(&root);
        if measured.height > MAX_DEPTH {
            let given = format!("{} levels", measured.height);
            return Err(Invalid::described("doc", given, format!("at most {MAX_DEPTH} levels")));
        }
        if size::has_nul(&root) {
            return Err(Invalid::described("doc", "a NUL character", "text without NUL"));
        }
        shape::check(&root)?;
        Ok(Self { root, bytes: measured.bytes })
    }

    /// Applies one call: all ops, or none.
    ///
    /// `max_bytes` bounds the document as JSON. One that is over it already (the limit was lowered) can still shrink.
    ///
    /// # Errors
    ///
    /// The first op that can't be done, named by its position (`ops[3].path`), or what would be wrong with the document
    /// after all of them (`doc.items[0].id`). The document is as it was.
    pub fn apply(&mut self, ops: &[Op], max_bytes: usize) -> Result<(), Invalid> {
        self.change(ops, max_bytes, max_bytes.saturating_mul(WORK))
    }

    /// Applies ops that were taken before, by [`Document::apply`], to the document that they were written for. No limit of
    /// today is held against them.
    ///
    /// # Errors
    ///
    /// Ops that do not fit this document: they were written for another one. The document is as it was.
    pub fn replay(&mut self, ops: &[Op]) -> Result<(), Invalid> {
        self.change(ops, usize::MAX, usize::MAX)
    }

    fn change(&mut self, ops: &[Op], max_bytes: usize, work: usize) -> Result<(), Invalid> {
        let before = self.bytes;
        let mut edits = Edits::new(&mut self.root, before, work);
        let mut result = ops
            .iter()
            .enumerate()
            .try_for_each(|(position, op)| edits.apply(op).map_err(|fault| fault.at(position)));
        if result.is_ok() {
            result = edits.check(ops, before, max_bytes);
        }
        match result {
            Ok(()) => self.bytes = edits.bytes(),
            Err(_) => edits.undo(),
        }
        result
    }

    /// The size as JSON, in bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// What is in it.
    #[must_use]
    pub const fn value(&self) -> &Value {
        &self.root
    }

    /// The document as JSON, without white space.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.root.to_string()
    }
}
