//! The rate limit of the sign-in routes.

use std::net::SocketAddr;

use auth::ClientKey;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::HeaderMap;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::ErrorCode;

use crate::problem::Problem;
use crate::state::Api;

/// Takes a token of the client's bucket, or answers 429 with the time to come back.
pub async fn rate_limit(State(api): State<Api>, request: Request, next: Next) -> Response {
    let Some(ConnectInfo(peer)) = request.extensions().get::<ConnectInfo<SocketAddr>>().copied() else {
        tracing::error!("the listener did not say who the peer is");
        return Problem::new(ErrorCode::Internal, "a fault of the server").into_response();
    };
    let client = client(&api, peer, request.headers());
    match api.limiter().take(client).await {
        Ok(()) => next.run(request).await,
        Err(error) => Problem::from(error).into_response(),
    }
}

fn client(api: &Api, peer: SocketAddr, headers: &HeaderMap) -> ClientKey {
    let forwarded = headers.get_all("x-forwarded-for").iter();
    // What is no text can't be read as hops; it ends what is vouched for.
    let forwarded = forwarded.map(|value| value.to_str().unwrap_or("unknown"));
    api.settings().trusted_proxies.client(peer.ip(), forwarded).into()
}
