//! No request takes for ever, and none takes its connection along.

use std::panic::AssertUnwindSafe;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::ErrorCode;
use futures_util::FutureExt as _;

use crate::problem::Problem;
use crate::state::Api;

/// Ends a request that takes longer than `http.request_timeout` with 504, and answers one whose handler panicked
/// with 500. An answer that has begun (a stream) has no deadline.
pub async fn deadline(State(api): State<Api>, request: Request, next: Next) -> Response {
    let limit = api.settings().request_timeout;
    match tokio::time::timeout(limit, AssertUnwindSafe(next.run(request)).catch_unwind()).await {
        Ok(Ok(response)) => response,
        // The panic hook has logged it.
        Ok(Err(_)) => Problem::new(ErrorCode::Internal, "a fault of the server").into_response(),
        Err(_) => {
            tracing::warn!(?limit, "a request was ended by http.request_timeout");
            let detail = "the answer took too long; what was asked for may have happened";
            Problem::new(ErrorCode::Timeout, detail).into_response()
        }
    }
}
