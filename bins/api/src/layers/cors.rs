//! Which pages' scripts may read answers (CORS).
//!
//! Sign-ins travel in `Authorization`, never in cookies, so this protects nobody's account: it is how a browser
//! is told that a page of another origin may use this server. A refusal is counted and logged, because
//! the browser shows its reason to nobody.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::ErrorCode;

use crate::problem::Problem;
use crate::state::Api;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
const HEADERS: HeaderValue = HeaderValue::from_static(
    "Authorization, Content-Type, Idempotency-Key, Last-Event-ID, X-Request-Id, traceparent",
);
const EXPOSED: HeaderValue = HeaderValue::from_static("Retry-After, X-Request-Id");
/// How long a browser may remember the answer to its preflight.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");

/// Answers preflights, and tells browsers which answers their pages may read.
pub async fn cors(State(api): State<Api>, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    let Some(origin) = origin.filter(|origin| !is_own(origin, request.headers())) else {
        return varying(next.run(request).await);
    };
    let allowed = api.settings().allowed_origins.allow(origin.as_bytes());
    if !allowed {
        api.metrics().origins_refused.inc();
        tracing::info!(?origin, "a page of an origin that is not in http.allowed_origins");
    }
    let is_preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = match (is_preflight, allowed) {
        (true, true) => preflight(),
        (true, false) => {
            let detail =
                "pages of this origin may not use this server; the operator adds it to http.allowed_origins";
            Problem::new(ErrorCode::OriginRefused, detail).into_response()
        }
        (false, _) => next.run(request).await,
    };
    if allowed {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    varying(response)
}

fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    response
}

fn varying(mut response: Response) -> Response {
    response.headers_mut().append(header::VARY, HeaderValue::from_static("Origin"));
    response
}

/// A page that this server served itself: its origin's host is the one that was asked.
fn is_own(origin: &HeaderValue, headers: &HeaderMap) -> bool {
    let host = headers.get(header::HOST).map(HeaderValue::as_bytes);
    let origin = origin.as_bytes();
    let authority = origin.strip_prefix(b"https://").or_else(|| origin.strip_prefix(b"http://"));
    host.is_some() && authority == host
}
