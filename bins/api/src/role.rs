//! The role: the HTTP face on a node, its listener and its drain.

use std::sync::Arc;

use auth::{KeyKeeper, Limiter};
use axum::Router;
use domain::NodeId;
use node::{App, BuildError, Faces, Node, RoleName, Settings};
use process::http::{ServeSettings, Server};
use process::supervise::Phase;
use store::rates::Bucket;
use tokio::net::TcpListener;

use crate::metrics::ApiMetrics;
use crate::pushes::Pushes;
use crate::router::{RouterError, router};
use crate::state::Parts;
use crate::stream::{StreamLimits, Streams};

/// Builds a node of role api on these listeners.
///
/// # Errors
///
/// See [`BuildError`].
pub async fn build(
    settings: &Settings,
    id: NodeId,
    listener: TcpListener,
    admin: TcpListener,
) -> Result<App, BuildError> {
    let listen = |error| BuildError::Listen { key: "http.listen", address: settings.http.listen, error };
    let address = listener.local_addr().map_err(listen)?;
    let info = node::describe(settings, RoleName::Api, id, &address.to_string());
    let node = Node::build(settings, info).await?;
    let (faces, keeper) = Faces::keeping(&node, settings).await?;
    let serve = ServeSettings {
        header_read_timeout: settings.http.header_read_timeout,
        peer_timeout: settings.http.peer_timeout,
        max_connections: settings.http.max_connections,
    };
    let server = Server::new("http", listener, api(&node, &faces, keeper, settings).await?, serve);
    node.serve_http("http listener", server, settings.shutdown.deadline);
    node.serve_admin(admin);
    node.drain_connections(settings.shutdown.spread);
    Ok(App::new(node, vec![("HTTP", address)]))
}

/// The routes on a node, for whoever serves them: this role, or all roles in one process.
///
/// # Errors
///
/// A setting that can't work.
pub async fn api(
    node: &Node,
    faces: &Faces,
    keeper: KeyKeeper,
    settings: &Settings,
) -> Result<Router, BuildError> {
    let registry = node.metrics.registry();
    let limiter = Limiter::for_sign_in(node.store.clone(), &settings.auth, registry)?;
    let bucket = Bucket { rate: settings.tasks.hook_rate, burst: settings.tasks.hook_burst };
    let patience = settings.auth.rate_timeout;
    let hook_limiter = Limiter::for_hooks(node.store.clone(), bucket, patience, registry)?;
    let push_test_limiter = Limiter::for_push_tests(node.store.clone(), patience, registry)?;
    let parts = Parts {
        node: node.info.id,
        identity: Arc::clone(&faces.identity),
        keeper,
        operations: node.operations.clone(),
        limiter: Arc::new(limiter),
        hook_limiter: Arc::new(hook_limiter),
        push_test_limiter: Arc::new(push_test_limiter),
        pushes: Arc::new(Pushes::open(&settings.push).await),
        metrics: ApiMetrics::register(registry)?,
        streams: Streams {
            node: node.info.id,
            sessions: Arc::clone(&faces.sessions),
            catchup: Arc::clone(&faces.catchup),
            realtime: node.realtime.clone(),
            connections: node.connections.clone(),
            tasks: node.supervisor.at(Phase::Drain),
            limits: StreamLimits {
                heartbeat_interval: settings.gateway.heartbeat_interval,
                reconnect_jitter: settings.gateway.reconnect_jitter,
                behind_limit: settings.gateway.behind_limit,
                refresh_grace: settings.auth.refresh_grace,
            },
        },
    };
    router(&settings.http, parts).map_err(|error| match error {
        RouterError::Invalid(invalid) => invalid.into(),
        RouterError::Internal(text) => BuildError::Metrics(text),
    })
}
