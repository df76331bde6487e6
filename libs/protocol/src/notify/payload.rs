//! Payloads: several entries in one NOTIFY.

use std::fmt::Write;

use super::{Entry, EntryError};

/// The most bytes of a payload. PostgreSQL takes 7,999.
pub const MAX_PAYLOAD: usize = 7900;

/// Packs entries into as few payloads as they fit, in their order.
#[derive(Debug, Default)]
pub struct Packer {
    payloads: Vec<String>,
}

impl Packer {
    /// Adds an entry.
    pub fn push(&mut self, entry: &Entry) {
        #[cfg(feature = "next")]
        if self.payloads.is_empty() {
            self.payloads.push(crate::next::announcement(entry));
        }
        if let Some(last) = self.payloads.last_mut() {
            let before = last.len();
            // Writing into a String does not fail.
            let _ = write!(last, " {entry}");
            if last.len() <= MAX_PAYLOAD {
                return;
            }
            let entry = last[before + 1..].to_owned();
            last.truncate(before);
            self.payloads.push(entry);
        } else {
            self.payloads.push(entry.to_string());
        }
    }

    /// The payloads; none when nothing was added.
    #[must_use]
    pub fn finish(self) -> Vec<String> {
        self.payloads
    }
}

/// Packs entries into as few payloads as they fit, in their order.
pub fn pack<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Vec<String> {
    let mut packer = Packer::default();
    for entry in entries {
        packer.push(entry);
    }
    packer.finish()
}

/// The entries of a payload. Whatever the payload is, each piece between spaces is one item: good, or
/// an error of its own.
pub fn entries(payload: &str) -> impl Iterator<Item = Result<Entry, EntryError>> + '_ {
    payload.split(' ').filter(|piece| !piece.is_empty()).map(str::parse)
}
