//! JSON bodies.

use std::fmt;
use std::marker::PhantomData;

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use domain::ErrorCode;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::{DeserializeOwned, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::error::Category;

use super::describe::field_problem;
use crate::problem::Problem;
use crate::state::Api;

/// A body that must be there. `T` should deny unknown fields.
pub struct Json<T>(pub T);

/// A body that may be left out, or null.
pub struct OptionalJson<T>(pub Option<T>);

impl<T: DeserializeOwned> FromRequest<Api> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        check_type(request.headers())?;
        parse(&read(request, api.settings().max_body_bytes).await?).map(Self)
    }
}

impl<T: DeserializeOwned> FromRequest<Api> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let typed = check_type(request.headers());
        let bytes = read(request, api.settings().max_body_bytes).await?;
        if matches!(bytes.trim_ascii(), b"" | b"null") {
            return Ok(Self(None));
        }
        typed?;
        parse(&bytes).map(|body| Self(Some(body)))
    }
}

/// `application/json`, or a type that is written as JSON; the charset, if one is named, must be UTF-8.
fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let refuse = |given: &str| {
        let detail = format!("the body must be application/json; Content-Type is {given:?}");
        Problem::new(ErrorCode::UnsupportedMediaType, detail)
    };
    let given = headers.get(header::CONTENT_TYPE).map_or(Ok(""), |value| value.to_str());
    let given = given.map_err(|_| refuse("not readable"))?;
    let mut parts = given.split(';').map(|part| part.trim().to_ascii_lowercase());
    let media = parts.next().unwrap_or_default();
    let good_media =
        media == "application/json" || (media.starts_with("application/") && media.ends_with("+json"));
    let good_charset = parts
        .filter_map(|part| part.strip_prefix("charset=").map(|set| set.trim_matches('"').to_owned()))
        .all(|set| set == "utf-8" || set == "utf8");
    if good_media && good_charset { Ok(()) } else { Err(refuse(given)) }
}

/// Reads a body of at most `limit` bytes.
///
/// # Errors
///
/// `too_large`; `malformed` when it broke off.
pub async fn read(request: Request, limit: usize) -> Result<axum::body::Bytes, Problem> {
    let too_large = || {
        Problem::new(ErrorCode::TooLarge, format!("the body is too large; at most {limit} bytes are taken"))
    };
    let announced = request.headers().get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    // Said before anything is sent: not one byte has to travel.
    if announced.is_some_and(|length| length > limit) {
        return Err(too_large());
    }
    match Limited::new(request.into_body(), limit).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(Problem::new(ErrorCode::Malformed, "the body broke off")),
    }
}

/// Reads a body.
///
/// # Errors
///
/// `malformed` for what is no JSON object, `invalid_field` for a field that does not fit.
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let malformed = |detail: String| Problem::new(ErrorCode::Malformed, detail);
    // Structs could also be read from an array, which nobody means.
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first.is_some_and(|byte| *byte != b'{') {
        return Err(malformed("the body must be a JSON object".into()));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let body = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let inner = error.into_inner();
        let is_json = || serde_json::from_slice::<Value>(bytes).is_ok();
        match inner.classify() {
            Category::Data => field_problem(&path, &inner.to_string(), "the body"),
            // A name out of a list that is no text at all counts as bad syntax, too.
            Category::Syntax if is_json() => field_problem(&path, "expected a string", "the body"),
            _ => malformed(format!("the body is no JSON: {inner}")),
        }
    })?;
    deserializer.end().map_err(|_| malformed("the body goes on after the JSON object".into()))?;
    refuse_nul(bytes)?;
    Ok(body)
}

/// NUL can only come as an escape, which almost no body has.
fn refuse_nul(bytes: &[u8]) -> Result<(), Problem> {
    if !bytes.windows(6).any(|six| six == br"\u0000") {
        return Ok(());
    }
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| Problem::new(ErrorCode::Malformed, format!("the body is no JSON: {error}")))?;
    match path_of_nul(&value, String::new()) {
        Some(path) => Err(Problem::field(path, "must not contain NUL")),
        None => Ok(()),
    }
}

fn path_of_nul(value: &Value, path: String) -> Option<String> {
    match value {
        Value::String(text) => text.contains('\0').then_some(path),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| path_of_nul(item, format!("{path}[{at}]")))
        }
        Value::Object(fields) => fields.iter().find_map(|(name, field)| {
            let dot = if path.is_empty() { "" } else { "." };
            if name.contains('\0') {
                Some(path.clone())
            } else {
                path_of_nul(field, format!("{path}{dot}{name}"))
            }
        }),
        _ => None,
    }
}

/// A struct inside a body, that must be written as an object (serde would take an array as well).
#[derive(Debug, Clone)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Only<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Only<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_map(Only(PhantomData)).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;
    use domain::DeviceKind;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Body {
        handle: String,
        age: Option<u32>,
        device: Option<Object<Inner>>,
        tags: Option<Vec<String>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Inner {
        kind: DeviceKind,
    }

    fn refused(body: &str) -> (ErrorCode, String) {
        let problem = parse::<Body>(body.as_bytes()).expect_err(body);
        (problem.code(), problem.detail().to_owned())
    }

    #[test]
    fn what_fits_is_read() {
        let body: Body = parse(br#" {"handle": "alex", "device": {"kind": "web"}} "#).expect("good");
        assert_eq!(body.handle, "alex");
    }

    #[test]
    fn what_is_no_object_is_malformed() {
        for body in
            ["", "{", "[]", "\"x\"", "nul", "{\"handle\": \"a\"} {}", "{'handle': 1}", "{\"handle\": \"\0\"}"]
        {
            assert_eq!(refused(body).0, ErrorCode::Malformed, "{body:?}");
        }
        assert_eq!(parse::<Body>(b"{\"handle\": \"\xff\"}").expect_err("utf-8").code(), ErrorCode::Malformed);
    }

    #[test]
    fn a_field_that_does_not_fit_is_named() {
        for (body, field, says) in [
            ("{}", "handle", "is missing"),
            (r#"{"handle": 5}"#, "handle", "expected a string"),
            (r#"{"handle": "a", "age": -1}"#, "age", "expected u32"),
            (r#"{"handle": "a", "handel": 1}"#, "handel", "is unknown; known is `handle`"),
            (r#"{"handle": "a", "handle": "b"}"#, "handle", "is there twice"),
            (r#"{"handle": "a", "device": {}}"#, "device.kind", "is missing"),
            (r#"{"handle": "a", "device": {"kind": "fridge"}}"#, "device.kind", "`web`"),
            (r#"{"handle": "a", "device": {"kind": 5}}"#, "device.kind", "expected a string"),
            (r#"{"handle": "a", "device": {"kind": "web", "x": 1}}"#, "device.x", "is unknown"),
            (r#"{"handle": "a", "device": ["web"]}"#, "device", "expected an object"),
            (r#"{"handle": "a", "tags": ["x", 1]}"#, "tags[1]", "expected a string"),
            (r#"{"handle": "a\u0000b"}"#, "handle", "NUL"),
            (r#"{"handle": "a", "tags": ["x", "\u0000"]}"#, "tags[1]", "NUL"),
        ] {
            let (code, detail) = refused(body);
            assert_eq!(code, ErrorCode::InvalidField, "{body}: {detail}");
            assert!(detail.starts_with(&format!("{field}: ")) && detail.contains(says), "{body}: {detail}");
        }
    }

    #[test]
    fn an_escaped_backslash_is_no_nul() {
        parse::<Body>(br#"{"handle": "\\u0000"}"#).expect("a backslash and letters");
    }

    #[test]
    fn types_are_checked() {
        let typed = |text: &'static str| {
            check_type(&HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(text))]))
        };
        for good in ["application/json", "Application/JSON; charset=UTF-8", "application/merge-patch+json"] {
            assert!(typed(good).is_ok(), "{good}");
        }
        for bad in ["text/plain", "application/json; charset=latin1", "application/x-www-form-urlencoded", ""]
        {
            assert_eq!(typed(bad).expect_err(bad).status().as_u16(), 415);
        }
        assert!(check_type(&HeaderMap::new()).is_err());
    }
}
