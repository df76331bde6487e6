//! Which thing an entry is about.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;
use uuid::fmt::Hyphenated;

use super::{EntryError, MAX_ID};

/// Text as an id. Only parsing makes one, so it is always in the grammar.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdText(Box<str>);

impl IdText {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Which thing an entry is about. UUIDs, the common case, are kept as such: a listener handles
/// hundreds of thousands of entries in a second.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// One id.
    One(Uuid),
    /// Two ids, written with a dot between them: `room.user`.
    Pair(Uuid, Uuid),
    /// Anything else that the grammar allows, by [`str::parse`].
    Text(IdText),
}

impl Id {
    /// The id, if it is one UUID.
    #[must_use]
    pub const fn one(&self) -> Option<Uuid> {
        match self {
            Self::One(id) => Some(*id),
            Self::Pair(..) | Self::Text(_) => None,
        }
    }

    /// Both ids, if it is a pair of UUIDs.
    #[must_use]
    pub const fn pair(&self) -> Option<(Uuid, Uuid)> {
        match self {
            Self::Pair(left, right) => Some((*left, *right)),
            Self::One(_) | Self::Text(_) => None,
        }
    }
}

impl From<Uuid> for Id {
    fn from(id: Uuid) -> Self {
        Self::One(id)
    }
}

impl From<(Uuid, Uuid)> for Id {
    fn from((left, right): (Uuid, Uuid)) -> Self {
        Self::Pair(left, right)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(id) => id.fmt(f),
            Self::Pair(left, right) => write!(f, "{left}.{right}"),
            Self::Text(text) => f.write_str(&text.0),
        }
    }
}

impl FromStr for Id {
    type Err = EntryError;

    fn from_str(text: &str) -> Result<Self, EntryError> {
        if let Some(id) = uuid(text) {
            return Ok(Self::One(id));
        }
        if let Some((left, right)) = text.split_once('.')
            && let (Some(left), Some(right)) = (uuid(left), uuid(right))
        {
            return Ok(Self::Pair(left, right));
        }
        let good = |byte: u8| byte.is_ascii_graphic() && byte != b':' && byte != b'@';
        if (1..=MAX_ID).contains(&text.len()) && text.bytes().all(good) {
            Ok(Self::Text(IdText(text.into())))
        } else {
            Err(EntryError::Id)
        }
    }
}

/// A UUID with hyphens. Letters of either case are one id, as PostgreSQL sees it.
fn uuid(text: &str) -> Option<Uuid> {
    if text.len() == Hyphenated::LENGTH { Uuid::try_parse(text).ok() } else { None }
}
