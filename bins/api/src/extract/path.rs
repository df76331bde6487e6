//! Parameters of paths.

use axum::extract::FromRequestParts;
use axum::extract::path::ErrorKind;
use axum::extract::rejection::PathRejection;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// The parameters of a path: a struct whose fields are named as in the path.
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(path) => Ok(Self(path.0)),
            Err(PathRejection::FailedToDeserializePathParams(failed)) => Err(describe(failed.into_kind())),
            Err(rejection) => {
                Err(operations_fault(&format!("a route that can't read its own path: {rejection}")))
            }
        }
    }
}

fn describe(kind: ErrorKind) -> Problem {
    match kind {
        ErrorKind::ParseErrorAtKey { key, value, expected_type } => {
            Problem::field(key, format!("{value:?} is not allowed; allowed is {expected_type}"))
        }
        ErrorKind::DeserializeError { key, value, message } => {
            Problem::field(key, format!("{value:?} is not allowed: {message}"))
        }
        ErrorKind::InvalidUtf8InPathParam { key } => Problem::field(key, "is no UTF-8"),
        other => operations_fault(&format!("a path that its route can't read: {other}")),
    }
}

fn operations_fault(reason: &str) -> Problem {
    store::StoreError::Internal(reason.to_owned()).into()
}
