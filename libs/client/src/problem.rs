//! What a server says when it refuses a request.

use serde::Deserialize;

/// The most of an answer that is read to find out why it is a refusal.
pub(crate) const MOST_BYTES: usize = 64 << 10;

/// A problem document (RFC 9457). Fields that are missing are empty, so that the answer of a proxy
/// in between is an error like any other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Problem {
    /// The stable name; the closed list is `domain::ErrorCode`.
    pub code: String,
    /// The kind of problem in words.
    pub title: String,
    /// What is wrong with this request.
    pub detail: String,
}

impl Problem {
    /// Reads the body of a refusal; what is no problem document is quoted as the detail.
    pub(crate) fn read(body: &[u8]) -> Self {
        serde_json::from_slice(body).unwrap_or_else(|_| Self {
            detail: String::from_utf8_lossy(body).chars().take(200).collect(),
            ..Self::default()
        })
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let words = if self.detail.is_empty() { &self.title } else { &self.detail };
        match self.code.is_empty() {
            true => f.write_str(words),
            false => write!(f, "{}: {words}", self.code),
        }
    }
}
