//! Durations as clients write them.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A duration as its text: `90s`, `500ms`, or a bare number of seconds. As JSON it may be a number too.
///
/// What it says is not looked at here: the server reads it by the rules of the product.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct WireDuration(pub String);

impl<'de> Deserialize<'de> for WireDuration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TextOrNumber)
    }
}

struct TextOrNumber;

impl Visitor<'_> for TextOrNumber {
    type Value = WireDuration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of seconds, or text such as \"90s\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<WireDuration, E> {
        Ok(WireDuration(text.to_owned()))
    }

    fn visit_u64<E: Error>(self, seconds: u64) -> Result<WireDuration, E> {
        Ok(WireDuration(seconds.to_string()))
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<WireDuration, E> {
        Ok(WireDuration(seconds.to_string()))
    }

    fn visit_f64<E: Error>(self, seconds: f64) -> Result<WireDuration, E> {
        Ok(WireDuration(seconds.to_string()))
    }
}
