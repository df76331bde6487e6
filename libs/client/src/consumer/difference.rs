//! What makes one document of another.
//!
//! The holder of a run sends no ops as such: it sends the difference between what the server has and what the document is by
//! now. So a hundred small changes go as one, whatever was lost on the way is made good by the next difference, and
//! nothing has to be kept for a connection that is away.
//!
//! Ops come in an order in which each of them leaves a document that keeps the rules. A text that grew is appended to.
//! Items are compared in order; from the first on that has another `id` or `type` they are taken out and put in anew.

use domain::Document;
use domain::document::{Op, Pointer};
use serde_json::{Map, Value, json};

/// A part of a difference, from its beginning on.
#[derive(Debug, Default)]
pub(super) struct Difference {
    /// Each leaves a document that keeps the rules.
    pub(super) ops: Vec<Op>,
    /// How far they lead.
    pub(super) reach: Reach,
    limit: usize,
    left: usize,
}

/// How far a part of a difference leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Reach {
    /// To the other document.
    #[default]
    Whole,
    /// There is more, for the next frame.
    Part,
    /// To something that fits into no frame: a value that is no text, in one piece.
    Stuck,
}

impl Difference {
    /// The first part that has at most `limit` bytes as JSON.
    pub(super) fn of(from: &Document, to: &Document, limit: usize) -> Self {
        let mut difference = Self { limit, left: limit, ..Self::default() };
        if let (Value::Object(from), Value::Object(to)) = (from.value(), to.value()) {
            difference.root(from, to);
        }
        difference
    }

    /// Gives back none as soon as there is no more room.
    fn root(&mut self, from: &Map<String, Value>, to: &Map<String, Value>) -> Option<()> {
        if let (Some(Value::Array(from)), Some(Value::Array(to))) = (from.get("items"), to.get("items")) {
            self.items(from, to)?;
        }
        self.members("", from, to, |name| name == "items")
    }

    fn items(&mut self, from: &[Value], to: &[Value]) -> Option<()> {
        let kept = from.iter().zip(to).take_while(|(from, to)| is_same(from, to)).count();
        for index in (kept..from.len()).rev() {
            self.push(Op::Remove { path: place(&format!("/items/{index}"))? })?;
        }
        for (index, (from, to)) in from.iter().zip(to).take(kept).enumerate() {
            self.item(index, from, to)?;
        }
        for (index, item) in to.iter().enumerate().skip(kept) {
            self.new_item(index, item)?;
        }
        Some(())
    }

    fn item(&mut self, index: usize, from: &Value, to: &Value) -> Option<()> {
        match (from, to) {
            (Value::Object(from), Value::Object(to)) => {
                self.members(&format!("/items/{index}"), from, to, |name| name == "id" || name == "type")
            }
            _ => Some(()),
        }
    }

    /// A new item; one that is too large for a frame comes bare first, then member by member.
    fn new_item(&mut self, index: usize, item: &Value) -> Option<()> {
        let end = place("/items/-")?;
        let whole = Op::Add { path: end.clone(), value: item.clone() };
        if size(&whole) <= self.limit {
            return self.push(whole);
        }
        let mut bare = json!({ "id": item["id"], "type": item["type"] });
        if item["text"].is_string() {
            bare["text"] = json!("");
        }
        self.push(Op::Add { path: end, value: bare.clone() })?;
        self.item(index, &bare, item)
    }

    fn members(
        &mut self,
        above: &str,
        from: &Map<String, Value>,
        to: &Map<String, Value>,
        is_fixed: impl Fn(&str) -> bool,
    ) -> Option<()> {
        let path = |name: &str| place(&format!("{above}/{}", name.replace('~', "~0").replace('/', "~1")));
        for name in from.keys().filter(|name| !to.contains_key(*name)) {
            self.push(Op::Remove { path: path(name)? })?;
        }
        for (name, value) in to.iter().filter(|(name, _)| !is_fixed(name)) {
            match (from.get(name), value) {
                (Some(old), value) if old == value => {}
                (Some(Value::String(old)), Value::String(text)) if text.starts_with(old) => {
                    self.append(&path(name)?, &text[old.len()..])?;
                }
                (_, value) => self.put(&path(name)?, value)?,
            }
        }
        Some(())
    }

    /// Puts a member in the place of what is there, if anything is.
    fn put(&mut self, path: &Pointer, value: &Value) -> Option<()> {
        let whole = Op::Add { path: path.clone(), value: value.clone() };
        match value {
            Value::String(text) if size(&whole) > self.limit => {
                self.push(Op::Add { path: path.clone(), value: json!("") })?;
                self.append(path, text)
            }
            _ => self.push(whole),
        }
    }

    /// Appends as much of a text as there is room for.
    fn append(&mut self, path: &Pointer, text: &str) -> Option<()> {
        let op = |text: &str| Op::Append { path: path.clone(), value: text.to_owned() };
        let whole = op(text);
        if size(&whole) <= self.left {
            return self.push(whole);
        }
        let part = beginning(text, self.left.saturating_sub(size(&op(""))));
        if !part.is_empty() {
            self.push(op(part))?;
        }
        self.stop()
    }

    fn push(&mut self, op: Op) -> Option<()> {
        let bytes = size(&op);
        if bytes > self.left {
            return self.stop();
        }
        self.left -= bytes;
        self.ops.push(op);
        Some(())
    }

    fn stop(&mut self) -> Option<()> {
        self.reach = if self.ops.is_empty() { Reach::Stuck } else { Reach::Part };
        None
    }
}

/// Whether one item became the other.
fn is_same(from: &Value, to: &Value) -> bool {
    from["id"] == to["id"] && from["type"] == to["type"]
}

fn place(path: &str) -> Option<Pointer> {
    // A document has no NUL, which is all that could be wrong with it.
    Pointer::parse(path).ok()
}

/// As much of a text from its beginning as has at most so many bytes as JSON.
fn beginning(text: &str, mut room: usize) -> &str {
    let end = text.char_indices().find(|(_, character)| {
        let width = match character {
            '"' | '\\' => 2,
            // The longest that a control character becomes: `\u0000`.
            '\0'..'\x20' => 6,
            other => other.len_utf8(),
        };
        let fits = room.checked_sub(width);
        room = fits.unwrap_or(0);
        fits.is_none()
    });
    end.map_or(text, |(end, _)| &text[..end])
}

/// The bytes of an op in a list, with its comma.
fn size(op: &Op) -> usize {
    serde_json::to_string(op).map_or(usize::MAX, |text| text.len() + 1)
}

#[cfg(test)]
mod tests;
