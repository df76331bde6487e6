//! What a client says it has of each stream.

use std::collections::BTreeMap;
use std::collections::btree_map::{self, Entry};
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use uuid::Uuid;

/// The last sequence number that a client has of each stream, by the stream's name.
///
/// Read strictly: names are `room:<id>`, `user:<id>` or `agent:<id>` with the id as lower-case UUID,
/// each once, and numbers are whole and not negative. A cursor that is quietly dropped would be
/// events that are quietly lost.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Cursors(BTreeMap<String, u64>);

impl Cursors {
    /// The number of the stream of this name, if one was given.
    #[must_use]
    pub fn get(&self, stream: &str) -> Option<u64> {
        self.0.get(stream).copied()
    }

    /// Adds or replaces a cursor.
    ///
    /// # Errors
    ///
    /// A name that is not that of a stream; the message says what is allowed.
    pub fn insert(&mut self, stream: impl Into<String>, seq: u64) -> Result<(), String> {
        let stream = stream.into();
        check(&stream)?;
        self.0.insert(stream, seq);
        Ok(())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Every name with its number, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.0.iter().map(|(stream, seq)| (stream.as_str(), *seq))
    }

    /// The bare map.
    #[must_use]
    pub fn into_map(self) -> BTreeMap<String, u64> {
        self.0
    }
}

impl IntoIterator for Cursors {
    type Item = (String, u64);
    type IntoIter = btree_map::IntoIter<String, u64>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl TryFrom<BTreeMap<String, u64>> for Cursors {
    type Error = String;

    fn try_from(map: BTreeMap<String, u64>) -> Result<Self, String> {
        map.keys().try_for_each(|stream| check(stream))?;
        Ok(Self(map))
    }
}

/// Only the spelling that [`Uuid`] itself writes: two spellings of one stream would be two cursors.
fn check(stream: &str) -> Result<(), String> {
    let id = stream.split_once(':').filter(|(kind, _)| matches!(*kind, "room" | "user" | "agent"));
    let canonical = id.is_some_and(|(_, id)| {
        let mut buffer = Uuid::encode_buffer();
        Uuid::try_parse(id).is_ok_and(|parsed| parsed.hyphenated().encode_lower(&mut buffer) == id)
    });
    if canonical {
        return Ok(());
    }
    let shown: String = stream.chars().take(64).collect();
    Err(format!("{shown:?} is not the name of a stream; allowed is room:<id>, user:<id> or agent:<id>"))
}

impl<'de> Deserialize<'de> for Cursors {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(CursorsVisitor)
    }
}

struct CursorsVisitor;

impl<'de> Visitor<'de> for CursorsVisitor {
    type Value = Cursors;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of stream names and sequence numbers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cursors, A::Error> {
        let mut cursors = BTreeMap::new();
        while let Some((stream, seq)) = map.next_entry::<String, u64>()? {
            check(&stream).map_err(A::Error::custom)?;
            match cursors.entry(stream) {
                Entry::Vacant(entry) => entry.insert(seq),
                Entry::Occupied(entry) => {
                    return Err(A::Error::custom(format_args!("{} is named twice", entry.key())));
                }
            };
        }
        Ok(Cursors(cursors))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: &str = "room:0190b4a5-0000-7000-8000-00000000000a";

    fn read(json: &str) -> Result<Cursors, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn good_cursors_are_read() {
        let cursors = read(&format!(r#"{{"{ROOM}":7}}"#)).expect("good");
        assert_eq!((cursors.get(ROOM), cursors.len()), (Some(7), 1));
        assert!(read("{}").expect("good").is_empty());
    }

    #[test]
    fn anything_odd_is_refused_with_the_reason() {
        for (json, reason) in [
            (format!(r#"{{"{ROOM}":-1}}"#), "integer `-1`"),
            (format!(r#"{{"{ROOM}":1.5}}"#), "floating point"),
            (format!(r#"{{"{ROOM}":"1"}}"#), "string"),
            (format!(r#"{{"{ROOM}":null}}"#), "null"),
            (format!(r#"{{"{ROOM}":1,"{ROOM}":2}}"#), "named twice"),
            (format!(r#"{{"{}":1}}"#, ROOM.to_uppercase()), "not the name of a stream"),
            (format!(r#"{{"{}":1}}"#, ROOM.replace("00a", "00A")), "not the name of a stream"),
            (format!(r#"{{"{}":1}}"#, ROOM.replace("room", "den")), "not the name of a stream"),
            (r#"{"room:":1}"#.into(), "not the name of a stream"),
            ("[]".into(), "an object of stream names"),
        ] {
            let error = read(&json).expect_err(&json).to_string();
            assert!(error.contains(reason), "{json}: {error}");
        }
    }
}
