//! What a document must look like, apart from size and depth.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::op::Op;
use super::pointer::Pointer;
use crate::error::Invalid;

/// Checks root and items; costs in proportion to the number of items, not to their size.
///
/// # Errors
///
/// The first place that is wrong, such as `doc.items[3].type`.
pub(super) fn check(root: &Value) -> Result<(), Invalid> {
    let Value::Object(root) = root else {
        return Err(wrong(String::new(), Some(root), "an object"));
    };
    let Some(Value::Array(items)) = root.get("items") else {
        return Err(wrong(".items".to_owned(), root.get("items"), "an array"));
    };
    let mut ids = HashSet::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let refuse = |member: &str, given, allowed| wrong(format!(".items[{index}]{member}"), given, allowed);
        let Value::Object(item) = item else { return Err(refuse("", Some(item), "an object")) };
        let id = text_of(item, "id").filter(|id| !id.is_empty());
        let id = id.ok_or_else(|| refuse(".id", item.get("id"), "text that is not empty"))?;
        if !ids.insert(id) {
            return Err(refuse(".id", item.get("id"), "an id that no other item has"));
        }
        match text_of(item, "type") {
            Some("tool" | "status") => {}
            Some("text" | "reasoning") if text_of(item, "text").is_some() => {}
            Some("text" | "reasoning") => {
                return Err(refuse(".text", item.get("text"), "text, in items of this type"));
            }
            _ => return Err(refuse(".type", item.get("type"), "text, reasoning, tool or status")),
        }
    }
    Ok(())
}

/// Whether [`check`] could find something after this op that it would not have found before.
pub(super) fn concerns(op: &Op) -> bool {
    match op {
        Op::Test { .. } => false,
        // Text that got longer is still text; an id that got longer may be another item's.
        Op::Append { path, .. } => frames(path) && path.tokens().last().is_none_or(|token| token != "text"),
        Op::Move { from, path } => frames(from) || frames(path),
        Op::Add { path, .. } | Op::Remove { path } | Op::Replace { path, .. } | Op::Copy { path, .. } => {
            frames(path)
        }
    }
}

/// Whether a place is one that the rules speak of: the root, `items`, an item, or one of its members with a rule.
fn frames(path: &Pointer) -> bool {
    match path.tokens() {
        [] => true,
        [items] | [items, _] => items == "items",
        [items, _, member] => items == "items" && matches!(member.as_str(), "id" | "type" | "text"),
        _ => false,
    }
}

fn text_of<'v>(item: &'v Map<String, Value>, member: &str) -> Option<&'v str> {
    item.get(member).and_then(Value::as_str)
}

fn wrong(place: String, given: Option<&Value>, allowed: &str) -> Invalid {
    let invalid = match given {
        None => Invalid::described("doc", "nothing", allowed),
        Some(Value::Array(_)) => Invalid::described("doc", "an array", allowed),
        Some(Value::Object(_)) => Invalid::described("doc", "an object", allowed),
        Some(Value::String(text)) => Invalid::new("doc", text, allowed),
        Some(plain) => Invalid::described("doc", plain.to_string(), allowed),
    };
    invalid.inside(place)
}
