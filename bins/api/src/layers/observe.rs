//! A request's id, its lines in the log and its numbers.
//!
//! What is logged and counted is the pattern of the route, never the path itself: paths and queries may hold secrets.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::state::Api;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Gives a request its id (that of a proxy in front, if it sent one) and puts its work into a span with it.
pub async fn observe(State(api): State<Api>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map_or("none", MatchedPath::as_str);
    let id = request_id(&request);
    let span = tracing::info_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        %method,
        route,
        user = tracing::field::Empty,
        agent = tracing::field::Empty
    );
    let mut response = next.run(request).instrument(span.clone()).await;
    let (status, elapsed) = (response.status(), began.elapsed());
    span.in_scope(|| {
        tracing::debug!(status = status.as_u16(), elapsed_ms = elapsed.as_secs_f64() * 1000.0, "answered");
    });
    // Methods that nobody offers would be a label that strangers can choose.
    let method = if matched.is_some() { known(method.as_str()) } else { "other" };
    api.metrics().requests.with_label_values(&[method, route, status.as_str()]).inc();
    api.metrics().seconds.with_label_values(&[method, route]).observe(elapsed.as_secs_f64());
    finish(&mut response, id);
    response
}

fn finish(response: &mut Response, id: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // Answers are about the caller, and some hold tokens; what may be kept says so itself.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

fn request_id(request: &Request) -> HeaderValue {
    let given = request.headers().get(REQUEST_ID).filter(|id| {
        (1..=64).contains(&id.len())
            && id.as_bytes().iter().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(b))
    });
    given.cloned().unwrap_or_else(|| {
        HeaderValue::from_str(&Uuid::now_v7().to_string()).unwrap_or(HeaderValue::from_static("unknown"))
    })
}

fn known(method: &str) -> &'static str {
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        .into_iter()
        .find(|known| *known == method)
        .unwrap_or("other")
}
