//! Durations as people write them: seconds as a number, or text such as `90s`, `500ms`, `5m`.
//!
//! Use with `#[serde(with = "domain::duration")]` on a `std::time::Duration`.

use std::fmt;
use std::time::Duration;

use serde::de::{self, Visitor};
use serde::{Deserializer, Serializer};

/// What [`parse`] takes, for people.
pub const ALLOWED: &str = "a number of seconds, or a number with one of the units ms, s, m, h, d (\"500ms\", \"90s\", \"15m\", \"30d\")";

/// Reads a duration from text.
///
/// # Errors
///
/// Text that is no number with a known unit, is negative, or does not fit; the message says what is allowed.
pub fn parse(text: &str) -> Result<Duration, String> {
    let refuse = || format!("{text:?} is not a duration; allowed is {ALLOWED}");
    let text_trimmed = text.trim();
    let split = text_trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text_trimmed.len());
    let (number, unit) = text_trimmed.split_at(split);
    let millis_per_unit = match unit.trim() {
        "ms" => 1,
        "" | "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000_u32,
        _ => return Err(refuse()),
    };
    // Whole numbers stay exact; a float would turn 1234567891 ms into one nanosecond less.
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(millis_per_unit.into()).map(Duration::from_millis).ok_or_else(refuse);
    }
    let number: f64 = number.parse().map_err(|_| refuse())?;
    Duration::try_from_secs_f64(number * f64::from(millis_per_unit) / 1000.0).map_err(|_| refuse())
}

/// Writes a duration the way [`parse`] reads it, in the largest unit that divides it.
#[must_use]
pub fn display(duration: Duration) -> String {
    let millis = duration.as_millis();
    for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000)] {
        if millis > 0 && millis.is_multiple_of(size) {
            return format!("{}{unit}", millis / size);
        }
    }
    format!("{millis}ms")
}

/// Serializes as text ([`display`]).
///
/// # Errors
///
/// Those of the serializer.
pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&display(*duration))
}

/// Deserializes from a number of seconds or from text ([`parse`]).
///
/// # Errors
///
/// What [`parse`] refuses, and values of another type.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    struct Seconds;
    impl Visitor<'_> for Seconds {
        type Value = Duration;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(ALLOWED)
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Duration, E> {
            parse(text).map_err(E::custom)
        }

        fn visit_u64<E: de::Error>(self, seconds: u64) -> Result<Duration, E> {
            Ok(Duration::from_secs(seconds))
        }

        fn visit_i64<E: de::Error>(self, seconds: i64) -> Result<Duration, E> {
            u64::try_from(seconds)
                .map(Duration::from_secs)
                .map_err(|_| E::invalid_value(de::Unexpected::Signed(seconds), &self))
        }

        fn visit_f64<E: de::Error>(self, seconds: f64) -> Result<Duration, E> {
            Duration::try_from_secs_f64(seconds)
                .map_err(|_| E::invalid_value(de::Unexpected::Float(seconds), &self))
        }
    }
    deserializer.deserialize_any(Seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_each_unit_and_refuses_the_rest() {
        for (text, millis) in [
            ("500ms", 500),
            ("90s", 90_000),
            ("1.5", 1500),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("30d", 2_592_000_000),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1s", "5 weeks", "1e400", "NaN"] {
            let message = parse(text).expect_err(text);
            assert!(message.contains("allowed is"), "{message}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_displayed_is_read_back(millis in 0_u64..10_000_000_000) {
            let duration = Duration::from_millis(millis);
            proptest::prop_assert_eq!(parse(&display(duration)), Ok(duration));
        }
    }
}
