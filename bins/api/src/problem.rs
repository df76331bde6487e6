//! Problem documents (RFC 9457): the one place where an error becomes an answer.
//!
//! The kind of an error decides the status ([`status`]), its code is what clients act on, and its public message is the
//! detail. Faults of ours are logged here, once, with what the client is not told.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use domain::{ErrorCode, ErrorKind, Invalid};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

mod title;

pub use title::title;

use crate::layers::observe::request_id;

/// The media type of problem documents.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// A field that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct FieldError {
    /// Which field, as a path: `device.name`.
    pub field: String,
    /// What is wrong with it, and what is allowed.
    pub detail: String,
}

/// An error as it is answered.
#[derive(Debug, Clone)]
pub struct Problem {
    code: ErrorCode,
    detail: String,
    errors: Vec<FieldError>,
    retry_after: Option<Duration>,
}

/// The document itself.
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct Document<'a> {
    /// The code as a URI.
    #[serde(rename = "type")]
    kind: String,
    /// What the code means, always the same for a code.
    title: &'a str,
    /// The status of the answer.
    status: u16,
    /// What went wrong this time.
    detail: &'a str,
    /// The stable name that programs act on.
    code: &'a str,
    /// The field that is wrong, when one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    /// Every field that is wrong.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    errors: &'a [FieldError],
    /// The id of the request, by which the operator finds it in the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
}

/// The status of a kind of error.
#[must_use]
pub const fn status(kind: ErrorKind) -> StatusCode {
    match kind {
        ErrorKind::Invalid => StatusCode::BAD_REQUEST,
        ErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorKind::Forbidden => StatusCode::FORBIDDEN,
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Conflict => StatusCode::CONFLICT,
        ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::Locked => StatusCode::LOCKED,
        ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Timeout => StatusCode::GATEWAY_TIMEOUT,
        ErrorKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// The status of a code: that of its kind, but for two that HTTP has statuses of its own for.
#[must_use]
pub const fn status_of(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        ErrorCode::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        code => status(code.kind()),
    }
}

impl Problem {
    /// A problem by its code.
    #[must_use]
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), errors: Vec::new(), retry_after: None }
    }

    /// A field that is wrong; `detail` says how, and what is allowed.
    #[must_use]
    pub fn field(field: impl Into<String>, detail: impl Into<String>) -> Self {
        let (field, detail) = (field.into(), detail.into());
        let problem = Self::new(ErrorCode::InvalidField, format!("{field}: {detail}"));
        Self { errors: vec![FieldError { field, detail }], ..problem }
    }

    /// There is no such thing, or the caller may not know of it.
    #[must_use]
    pub fn not_found(what: &'static str) -> Self {
        store::StoreError::from(store::Refusal::NotFound(what)).into()
    }

    /// The code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        self.code
    }

    /// What went wrong this time.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The status it is answered with.
    #[must_use]
    pub const fn status(&self) -> StatusCode {
        status_of(self.code)
    }

    fn of(code: ErrorCode, detail: String, field: Option<&str>, for_logs: &dyn std::fmt::Display) -> Self {
        match code.kind() {
            ErrorKind::Internal => tracing::error!(error = %for_logs, "a request met a fault"),
            ErrorKind::Unavailable | ErrorKind::Timeout => {
                tracing::warn!(error = %for_logs, "a request could not be served");
            }
            _ => {}
        }
        let errors = field.map(|field| FieldError { field: field.into(), detail: detail.clone() });
        Self { errors: errors.into_iter().collect(), ..Self::new(code, detail) }
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        let detail = format!("{} is not allowed; allowed is {}", invalid.given, invalid.allowed);
        Self::field(format!("{}{}", invalid.field, invalid.place), detail)
    }
}

impl From<store::StoreError> for Problem {
    fn from(error: store::StoreError) -> Self {
        let field = match &error {
            store::StoreError::Refused(store::Refusal::Invalid(field, _)) => Some(*field),
            _ => None,
        };
        Self::of(error.code(), error.public_message(), field, &error)
    }
}

impl From<operations::Error> for Problem {
    fn from(error: operations::Error) -> Self {
        match error {
            operations::Error::Invalid(invalid) => invalid.into(),
            error => Self::of(error.code(), error.public_message(), error.field(), &error),
        }
    }
}

impl From<auth::AuthError> for Problem {
    fn from(error: auth::AuthError) -> Self {
        let retry_after = match &error {
            auth::AuthError::Locked { until } => {
                Some(Timestamp::now().duration_until(*until).try_into().unwrap_or_default())
            }
            error => error.retry_after(),
        };
        let problem = match error {
            auth::AuthError::Invalid(invalid) => invalid.into(),
            auth::AuthError::Store(error) => error.into(),
            error => Self::of(error.code(), error.public_message(), None, &error),
        };
        Self { retry_after, ..problem }
    }
}

impl From<push::vapid::KeyError> for Problem {
    fn from(error: push::vapid::KeyError) -> Self {
        let detail = "this node can't read the key of pushes; its log says why".to_owned();
        Self::of(ErrorCode::Unavailable, detail, None, &error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let document = Document {
            kind: format!("urn:switchboard:error:{}", self.code),
            title: title(self.code),
            status: status.as_u16(),
            detail: &self.detail,
            code: self.code.as_str(),
            field: self.errors.first().map(|error| error.field.as_str()),
            errors: &self.errors,
            request_id: request_id(),
        };
        // Text and numbers always are JSON.
        let body = serde_json::to_vec(&document).unwrap_or_default();
        let mut response = (status, [(header::CONTENT_TYPE, MEDIA_TYPE)], body).into_response();
        let headers = response.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            let way = if self.code == ErrorCode::BadSignature { "Signature" } else { "Bearer" };
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(way));
        }
        let retry_after = match self.code.kind() {
            ErrorKind::Unavailable => self.retry_after.or(Some(Duration::from_secs(1))),
            _ => self.retry_after,
        };
        if let Some(after) = retry_after {
            // Whole seconds, rounded up: who comes back then is let in.
            let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds.max(1)));
        }
        response
    }
}

#[cfg(test)]
mod tests;
