//! Headers with a meaning of their own.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::problem::Problem;

/// `Idempotency-Key`: makes a creating call safe to repeat.
pub struct IdempotencyKey(pub Option<String>);

impl<S: Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let Some(value) = parts.headers.get("idempotency-key") else { return Ok(Self(None)) };
        let key = String::from_utf8_lossy(value.as_bytes());
        domain::text::nonce("Idempotency-Key", &key)?;
        Ok(Self(Some(key.into_owned())))
    }
}
