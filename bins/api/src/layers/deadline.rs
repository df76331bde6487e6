//! No request takes for ever, and none takes its connection along.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::ErrorCode;
use futures_util::FutureExt as _;
use tokio::time::{Instant, timeout_at};

use crate::problem::Problem;
use crate::state::Api;

/// Time that a request is given beyond `http.request_timeout`, because its caller wants to wait for something.
#[derive(Debug, Clone, Default)]
pub struct Patience(Arc<AtomicU64>);

impl Patience {
    /// Gives the request so much more time.
    pub fn wait(&self, longer: Duration) {
        let millis = u64::try_from(longer.as_millis()).unwrap_or(u64::MAX);
        self.0.fetch_max(millis, Ordering::Relaxed);
    }

    fn granted(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

impl<S: Sync> FromRequestParts<S> for Patience {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

/// Ends a request that takes longer than `http.request_timeout` and what its handler grants ([`Patience`]) with 504,
/// and answers one whose handler panicked with 500. An answer that has begun (a stream) has no deadline.
pub async fn deadline(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let (began, limit) = (Instant::now(), api.settings().request_timeout);
    let patience = Patience::default();
    request.extensions_mut().insert(patience.clone());
    let mut answer = std::pin::pin!(AssertUnwindSafe(next.run(request)).catch_unwind());
    let mut end = began + limit;
    loop {
        match timeout_at(end, &mut answer).await {
            Ok(Ok(response)) => return response,
            // The panic hook has logged it.
            Ok(Err(_)) => return Problem::new(ErrorCode::Internal, "a fault of the server").into_response(),
            Err(_) => {
                let granted = began + limit + patience.granted();
                if granted <= end {
                    tracing::warn!(?limit, "a request was ended by http.request_timeout");
                    let detail = "the answer took too long; what was asked for may have happened";
                    return Problem::new(ErrorCode::Timeout, detail).into_response();
                }
                end = granted;
            }
        }
    }
}
