//! The gateway as one thing: what all its connections share, its route, and its drain.

use std::sync::Arc;
use std::time::Duration;

use auth::Identity;
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response};
use axum::response::IntoResponse;
use axum::routing::any;
use domain::{ConnectionId, NodeId};
use node::GatewaySettings;
use operations::Operations;
use process::http::REQUEST_ID;
use process::supervise::Tasks;
use protocol::Encoding;
use realtime::{CatchUp, Hub, RealtimeMetrics, Sessions};
use tokio::sync::Semaphore;
use tracing::Instrument as _;

use crate::connection;
use crate::credentials::Credentials;
use crate::metrics::GatewayMetrics;
use crate::websocket::handshake;

/// The path of the gateway.
pub const PATH: &str = "/v1/gateway";

/// Completions that connections of one node wait for at one time.
const QUESTIONS: usize = 1000;

/// What the gateway stands on: parts of the node.
#[derive(Clone)]
pub struct Parts {
    /// This node.
    pub node: NodeId,
    /// Who somebody is.
    pub identity: Arc<Identity>,
    /// What clients ask for.
    pub operations: Operations,
    /// Live connections.
    pub hub: Arc<Hub>,
    /// Begins and ends sessions.
    pub sessions: Arc<Sessions>,
    /// Reads the log for connections that lag.
    pub catchup: Arc<CatchUp>,
    /// Counters that SSE shares.
    pub realtime: RealtimeMetrics,
    /// Counters of sockets.
    pub metrics: GatewayMetrics,
    /// Where connections run: told to end when the node drains.
    pub tasks: Tasks,
}

/// What all connections of the gateway share.
pub struct Gateway {
    pub(crate) parts: Parts,
    pub(crate) settings: GatewaySettings,
    /// How long a connection may outlive its access token.
    pub(crate) refresh_grace: Duration,
    pub(crate) places: Arc<Semaphore>,
    /// Completions that are asked for at one time.
    pub(crate) questions: Arc<Semaphore>,
}

impl Gateway {
    /// A gateway. `refresh_grace`: how long a connection may outlive the access token it came by.
    #[must_use]
    pub fn new(settings: GatewaySettings, refresh_grace: Duration, parts: Parts) -> Arc<Self> {
        let places = Arc::new(Semaphore::new(settings.max_connections.min(Semaphore::MAX_PERMITS)));
        let questions = Arc::new(Semaphore::new(QUESTIONS));
        Arc::new(Self { parts, settings, refresh_grace, places, questions })
    }

    /// The route of the gateway.
    pub fn router(self: &Arc<Self>) -> Router {
        Router::new().route(PATH, any(upgrade)).with_state(Arc::clone(self))
    }
}

async fn upgrade(State(gateway): State<Arc<Gateway>>, request: Request<Body>) -> Response<Body> {
    let id = ConnectionId::new();
    let request_id = process::http::request_id(request.headers());
    let span = tracing::info_span!(
        target: trace::LINE,
        "connection",
        connection_id = %id,
        request_id = request_id.to_str().unwrap_or_default()
    );
    let mut response = span.in_scope(|| accept(gateway, id, request));
    response.headers_mut().insert(REQUEST_ID, request_id);
    response
}

/// Answers the handshake. What comes after it runs in the span that is entered here.
fn accept(gateway: Arc<Gateway>, id: ConnectionId, mut request: Request<Body>) -> Response<Body> {
    let slot = request.extensions().get::<process::http::Slot>().cloned();
    let subprotocols = [Encoding::Json.subprotocol(), Encoding::Proto.subprotocol()];
    let accepted = Credentials::of(&request).and_then(|credentials| {
        let accepted = handshake::accept(&mut request, &subprotocols, &gateway.settings.allowed_origins)?;
        Ok((accepted, credentials))
    });
    match accepted {
        Ok((accepted, credentials)) => {
            let encoding = Encoding::from_subprotocol(accepted.subprotocol).unwrap_or(Encoding::Json);
            let tasks = gateway.parts.tasks.clone();
            let running = async move {
                match accepted.upgrade.finish().await {
                    Ok(socket) => connection::run(gateway, id, socket, encoding, credentials).await,
                    Err(error) => tracing::debug!(%error, "a connection went away before it was upgraded"),
                }
                // The listener's place is free again.
                drop(slot);
            };
            tasks.transient("websocket", running.in_current_span());
            accepted.response
        }
        Err(refusal) => {
            gateway.parts.metrics.refused(refusal.label());
            let origin = request.headers().get("origin").and_then(|origin| origin.to_str().ok());
            tracing::info!(reason = refusal.label(), origin, "a WebSocket was refused");
            refusal.into_response()
        }
    }
}
