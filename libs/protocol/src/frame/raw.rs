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
