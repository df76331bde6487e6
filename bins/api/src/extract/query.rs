//! Query strings.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use domain::ErrorCode;
use serde::de::DeserializeOwned;

use super::describe::field_problem;
use crate::problem::Problem;

/// A query string. `T` should deny unknown fields.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parse(parts.uri.query().unwrap_or_default()).map(Self)
    }
}

pub(super) fn parse<T: DeserializeOwned>(query: &str) -> Result<T, Problem> {
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if name.contains('\0') || value.contains('\0') {
            let name = name.replace('\0', "");
            return Err(Problem::field(name, "must not contain NUL"));
        }
        // What is no UTF-8 was replaced while it was decoded.
        if name.contains('\u{fffd}') || value.contains('\u{fffd}') {
            return Err(Problem::new(ErrorCode::Malformed, "the query string is no UTF-8"));
        }
    }
    let deserializer = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let path = error.path().to_string();
        field_problem(&path, &error.into_inner().to_string(), "the query string")
    })
}

#[cfg(test)]
mod tests {
    use domain::UserId;
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Params {
        limit: Option<u32>,
        query: Option<String>,
        user_id: Option<UserId>,
    }

    #[test]
    fn what_fits_is_read() {
        let params: Params = parse("limit=5&query=a%20b+c").expect("good");
        assert_eq!((params.limit, params.query.as_deref(), params.user_id), (Some(5), Some("a b c"), None));
        parse::<Params>("").expect("nothing is fine");
    }

    #[test]
    fn what_does_not_fit_is_named() {
        for (query, field, says) in [
            ("limit=many", "limit", "invalid digit"),
            ("limit=-1", "limit", "invalid digit"),
            ("limit=", "limit", "empty string"),
            ("limit=1&limit=2", "limit", "twice"),
            ("offset=1", "offset", "is unknown; known is `limit`"),
            ("query=a%00b", "query", "NUL"),
            ("user_id=alex", "user_id", "UUID"),
        ] {
            let problem = parse::<Params>(query).expect_err(query);
            let detail = problem.detail();
            assert_eq!(problem.code(), ErrorCode::InvalidField, "{query}: {detail}");
            assert!(detail.starts_with(&format!("{field}: ")) && detail.contains(says), "{query}: {detail}");
        }
        assert_eq!(parse::<Params>("query=%ff").expect_err("no utf-8").code(), ErrorCode::Malformed);
    }
}
