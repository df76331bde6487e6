//! Free JSON inside of bodies: carried along as it came, never parsed into values.

use protocol::codec::MAX_DEPTH;
use protocol::frame::RawJson;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Any JSON that nests no deeper than others can read it.
#[derive(Debug, Clone)]
pub struct Free(pub RawJson);

impl<'de> Deserialize<'de> for Free {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = RawJson::deserialize(deserializer)?;
        if json.depth() > MAX_DEPTH {
            return Err(D::Error::custom(format_args!("is nested deeper than {MAX_DEPTH} levels")));
        }
        Ok(Self(json))
    }
}

/// Reads an optional field that is there whatever its value, `null` too.
///
/// # Errors
///
/// As for a field that must be there.
pub fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Free>, D::Error> {
    Free::deserialize(deserializer).map(Some)
}

/// Reads an optional field that may also be `null`, which means something else than to leave it out.
///
/// # Errors
///
/// As for a field that must be there.
pub fn nullable<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Some)
}

/// A duration inside of a body: seconds as a number, or text such as `90s`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(transparent)]
pub struct Lasting(#[serde(with = "domain::duration")] pub std::time::Duration);

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::extract::json::parse;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Body {
        input: Free,
        #[serde(default, deserialize_with = "given")]
        result: Option<Free>,
        timeout: Option<Lasting>,
        #[serde(default, deserialize_with = "nullable")]
        note: Option<Option<u8>>,
    }

    #[test]
    fn free_json_is_taken_as_it_was_written() {
        let body: Body =
            parse(br#"{"input": {"b": 1.50, "a" :[ ]}, "result": null, "timeout": "1m"}"#).expect("good");
        assert_eq!(body.input.0.get(), r#"{"b": 1.50, "a" :[ ]}"#);
        assert_eq!(body.result.expect("there").0.get(), "null");
        assert_eq!(body.timeout.expect("there").0, Duration::from_secs(60));
        assert!(parse::<Body>(br#"{"input": null}"#).expect("good").result.is_none());
        for (body, note) in [
            (r#"{"input": 1}"#, None),
            (r#"{"input": 1, "note": null}"#, Some(None)),
            (r#"{"input": 1, "note": 7}"#, Some(Some(7))),
        ] {
            assert_eq!(parse::<Body>(body.as_bytes()).expect(body).note, note, "{body}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let deep = format!(r#"{{"input": {}{}}}"#, "[".repeat(101), "]".repeat(101));
        for (body, says) in [
            ("{}", "input: is missing"),
            (&*deep, "input: is nested deeper than 100 levels"),
            (r#"{"input": "\u0000"}"#, "input: must not contain NUL"),
            (r#"{"input": 1, "timeout": "soon"}"#, "timeout: \"soon\" is not a duration"),
            (r#"{"input": 1, "timeout": -1}"#, "timeout: invalid value"),
        ] {
            let problem = parse::<Body>(body.as_bytes()).expect_err(body);
            assert!(problem.detail().starts_with(says), "{body}: {}", problem.detail());
        }
    }
}
