//! JSON that is carried along without being looked at.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// JSON as text: known to be well formed, never parsed into values.
///
/// Equal when the text is equal, so `{"a":1}` and `{ "a": 1 }` differ.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    /// Takes text that must be one JSON value; white space around it is dropped.
    ///
    /// # Errors
    ///
    /// What is wrong with the text.
    pub fn new(text: impl Into<String>) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text.into()).map(Self)
    }

    /// The text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// How many objects and arrays lie in each other at the deepest place; 0 for text, a number, and the like.
    #[must_use]
    pub fn depth(&self) -> usize {
        let (mut depth, mut deepest) = (0_usize, 0);
        let mut bytes = self.get().bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth = depth.saturating_sub(1),
                b'"' => skip_string(&mut bytes),
                _ => {}
            }
            deepest = deepest.max(depth);
        }
        deepest
    }
}

/// Goes on behind the quote that ends the string.
fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get())
    }
}

impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for RawJson {}

/// Reads an optional field that is there whatever its value, `null` too.
pub(super) fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_counts_brackets_outside_of_strings() {
        for (text, depth) in [
            ("null", 0),
            (r#""[[[""#, 0),
            ("[]", 1),
            (r#"{"a":[1,{"b":"]"}],"c":[]}"#, 3),
            (r#"["\"[","\\",[]]"#, 2),
            ("[[],[],[[]]]", 3),
        ] {
            assert_eq!(RawJson::new(text).expect(text).depth(), depth, "{text}");
        }
    }
}
