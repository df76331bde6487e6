//! Text that is never shown.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

/// Text of the configuration that neither logs nor the reference of keys show.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Hidden(String);

impl Hidden {
    /// The text.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether nothing was set.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    const fn shown(&self) -> &'static str {
        if self.is_empty() { "" } else { "(hidden)" }
    }
}

impl From<&str> for Hidden {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.shown(), f)
    }
}

impl Serialize for Hidden {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.shown())
    }
}
