//! JSON pointers (RFC 6901): where in a document an op works.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

/// A place in a document: `/items/0/text`. The empty pointer is the whole document. In a token `~1` is `/` and `~0` is `~`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Pointer {
    tokens: Vec<String>,
}

impl Pointer {
    /// Reads a pointer.
    ///
    /// # Errors
    ///
    /// What is allowed, if the text is none: it does not begin with `/`, has a `~` without `0` or `1`, or a NUL, which no
    /// document may have.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        if text.contains('\0') {
            return Err("a JSON pointer without NUL");
        }
        if text.is_empty() {
            return Ok(Self { tokens: Vec::new() });
        }
        let tokens = text.strip_prefix('/').ok_or("a JSON pointer: empty, or beginning with /")?;
        let tokens = tokens.split('/').map(unescape).collect::<Option<_>>();
        Ok(Self { tokens: tokens.ok_or("a JSON pointer: ~ only as ~0 (for ~) or ~1 (for /)")? })
    }

    /// The names and indexes on the way, unescaped.
    #[must_use]
    pub fn tokens(&self) -> &[String] {
        &self.tokens
    }

    /// Whether this is above `other`: `/a` is above `/a/b`, and not above itself or `/ab`.
    pub(super) fn is_above(&self, other: &Self) -> bool {
        self.tokens.len() < other.tokens.len() && other.tokens.starts_with(&self.tokens)
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tokens.iter().try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}

impl Serialize for Pointer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// None if a `~` is not followed by `0` or `1`.
fn unescape(token: &str) -> Option<String> {
    let mut parts = token.split('~');
    let mut text = parts.next()?.to_owned();
    for part in parts {
        text.push(match part.as_bytes().first()? {
            b'0' => '~',
            b'1' => '/',
            _ => return None,
        });
        text.push_str(&part[1..]);
    }
    Some(text)
}

/// The index that a token is: digits without leading zeros. `-`, the place behind the last element, is none.
pub(super) fn index(token: &str) -> Option<usize> {
    let plain = token.bytes().all(|byte| byte.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    if plain { token.parse().ok() } else { None }
}

/// What is there.
pub(super) fn find<'v>(root: &'v Value, tokens: &[String]) -> Option<&'v Value> {
    tokens.iter().try_fold(root, |value, token| match value {
        Value::Object(members) => members.get(token),
        Value::Array(elements) => elements.get(index(token)?),
        _ => None,
    })
}

/// What is there, to be changed.
pub(super) fn find_mut<'v>(root: &'v mut Value, tokens: &[String]) -> Option<&'v mut Value> {
    tokens.iter().try_fold(root, |value, token| match value {
        Value::Object(members) => members.get_mut(token),
        Value::Array(elements) => elements.get_mut(index(token)?),
        _ => None,
    })
}
