//! A request's id, its lines in the log and its numbers.
//!
//! What is logged and counted is the pattern of the route, never the path itself: paths and queries may hold secrets.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use process::http::REQUEST_ID;
use tracing::{Instrument as _, Span};

use crate::state::Api;

tokio::task_local! {
    static CURRENT: HeaderValue;
}

/// The id of the request that is being answered.
#[must_use]
pub fn request_id() -> Option<String> {
    CURRENT.try_with(|id| id.to_str().ok().map(str::to_owned)).ok().flatten()
}

/// Gives a request its id (that of a proxy in front, if it sent one) and puts its work into a span with it, which goes on with
/// the caller's trace (`traceparent`).
pub async fn observe(State(api): State<Api>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let matched = request.extensions().get::<MatchedPath>().cloned();
    let route = matched.as_ref().map_or("none", MatchedPath::as_str);
    // Methods that nobody offers would be a label that strangers can choose.
    let method = if matched.is_some() { known(method.as_str()) } else { "other" };
    let id = process::http::request_id(request.headers());
    let span = span(request.headers(), &id, method, route);
    let answering = CURRENT.scope(id.clone(), next.run(request));
    let mut response = answering.instrument(span.clone()).await;
    let (status, elapsed) = (response.status(), began.elapsed());
    tracing::record_all!(span, status = status.as_u16(), failed = status.is_server_error());
    span.in_scope(|| tracing::debug!(elapsed_ms = elapsed.as_secs_f64() * 1000.0, "answered"));
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

fn span(headers: &HeaderMap, id: &HeaderValue, method: &str, route: &str) -> Span {
    let make = || {
        tracing::info_span!(
            target: trace::SERVER,
            "request",
            request_id = id.to_str().unwrap_or_default(),
            method,
            route,
            user = tracing::field::Empty,
            agent = tracing::field::Empty,
            status = tracing::field::Empty,
            failed = tracing::field::Empty
        )
    };
    match headers.get("traceparent").and_then(|parent| parent.to_str().ok()) {
        Some(parent) => trace::below(parent, [], make),
        None => make(),
    }
}

fn known(method: &str) -> &'static str {
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
        .into_iter()
        .find(|known| *known == method)
        .unwrap_or("other")
}
