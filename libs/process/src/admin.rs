//! The admin listener of a node: health and metrics, apart from what clients reach.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use crate::health::{Health, Readiness};
use crate::http::{ServeSettings, Server};
use crate::metrics::Metrics;

/// Where a node shows its health and metrics.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdminSettings {
    /// The address of the admin listener. Nobody signs in there: keep it inside.
    pub listen: SocketAddr,
}

impl Default for AdminSettings {
    fn default() -> Self {
        Self { listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 9600)) }
    }
}

#[derive(Debug, Clone)]
struct Admin {
    health: Health,
    metrics: Metrics,
}

/// The admin listener, to be run under supervision until everything else has stopped.
#[must_use]
pub fn server(listener: TcpListener, health: Health, metrics: Metrics) -> Server {
    let settings = ServeSettings {
        header_read_timeout: Duration::from_secs(10),
        max_connections: 256,
        ..ServeSettings::default()
    };
    Server::new("admin", listener, router(health, metrics), settings)
}

/// The routes of the admin listener.
pub fn router(health: Health, metrics: Metrics) -> Router {
    Router::new()
        .route("/healthz/live", get(live))
        .route("/healthz/ready", get(ready))
        .route("/metrics", get(render))
        .with_state(Admin { health, metrics })
}

/// That this answers is the answer.
async fn live() -> Response {
    Json(serde_json::json!({"status": "live"})).into_response()
}

async fn ready(State(admin): State<Admin>) -> Response {
    let readiness = admin.health.readiness().await;
    let status = match readiness {
        Readiness::Ready => StatusCode::OK,
        Readiness::Unready { .. } => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, [(header::CACHE_CONTROL, "no-store")], Json(readiness)).into_response()
}

async fn render(State(admin): State<Admin>) -> Response {
    match admin.metrics.render() {
        Ok(text) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], text).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "can't render metrics");
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
    }
}
