//! The grammar of the NOTIFY channel `ephemeral`, by which nodes wake each other.
//!
//! ```text
//! payload = entry *( " " entry )           at most 7,900 bytes
//! entry   = kind ":" id [ ":" version ] "@" node     at most 200 bytes
//! kind    = 1 to 40 of a-z 0-9 . _ -
//! id      = 1 to 100 visible ASCII characters without ":" and "@"
//! version = decimal, 64 bits
//! node    = UUID of the sender
//! ```
//!
//! A payload says that something has a new version, never what it is: whoever receives it loads the
//! row. So an entry may be lost, repeated or overtaken without harm. Kinds that a node does not know
//! are [`Kind::Unknown`] and are counted and passed over, because a newer node may speak first; an
//! entry that breaks the grammar is an error of its own and the rest of the payload goes on.
//!
//! Beside the kinds of the product there is [`Kind::ListenerPing`]: a listener's round trip to itself
//! (id: the node, version: a counter). Other nodes pass over it, without counting it as unknown.

mod id;
mod kind;
mod payload;

use std::fmt;

use uuid::Uuid;

pub use id::{Id, IdText};
pub use kind::{Kind, KindName};
pub use payload::{MAX_PAYLOAD, Packer, entries, pack};

/// The channel that all nodes listen on.
pub const CHANNEL: &str = "ephemeral";

/// The most bytes of an entry.
pub const MAX_ENTRY: usize = 200;

const MAX_KIND: usize = 40;
const MAX_ID: usize = 100;

/// One wake-up: this thing has this version now.
///
/// Every entry that can be made fits [`MAX_ENTRY`]: 40 + 100 + 20 + 36 bytes and three separators.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Entry {
    /// What sort of thing.
    pub kind: Kind,
    /// Which one.
    pub id: Id,
    /// Its version, for things that have one.
    pub version: Option<u64>,
    /// The node that says so.
    pub node: Uuid,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind, self.id)?;
        if let Some(version) = self.version {
            write!(f, ":{version}")?;
        }
        write!(f, "@{}", self.node)
    }
}

/// Why text is no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum EntryError {
    /// Over 200 bytes.
    #[error("an entry of over {MAX_ENTRY} bytes")]
    TooLong,
    /// No `@node`, or not a UUID.
    #[error("an entry without a good node")]
    Node,
    /// No kind, or with characters that a kind can't have.
    #[error("an entry without a good kind")]
    Kind,
    /// No id, or with characters that an id can't have.
    #[error("an entry without a good id")]
    Id,
    /// A version that is not a decimal of 64 bits.
    #[error("an entry with a bad version")]
    Version,
}

impl std::str::FromStr for Entry {
    type Err = EntryError;

    fn from_str(text: &str) -> Result<Self, EntryError> {
        if text.len() > MAX_ENTRY {
            return Err(EntryError::TooLong);
        }
        let (thing, node) = text.rsplit_once('@').ok_or(EntryError::Node)?;
        let node = Uuid::try_parse(node).map_err(|_| EntryError::Node)?;
        let (kind, rest) = thing.split_once(':').ok_or(EntryError::Id)?;
        let (id, version) = match rest.split_once(':') {
            Some((id, version)) => (id, Some(read_version(version)?)),
            None => (rest, None),
        };
        Ok(Self { kind: kind.parse()?, id: id.parse()?, version, node })
    }
}

fn read_version(text: &str) -> Result<u64, EntryError> {
    // `parse` alone would take a plus sign.
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().map_err(|_| EntryError::Version)
    } else {
        Err(EntryError::Version)
    }
}

#[cfg(test)]
mod tests;
