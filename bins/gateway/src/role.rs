//! The role: the gateway on a node, its listener and its drain.

use std::sync::Arc;

use domain::NodeId;
use node::{App, BuildError, Faces, Node, RoleName, Settings};
use process::http::{ServeSettings, Server};
use process::supervise::Phase;
use tokio::net::TcpListener;

use crate::gateway::{Gateway, Parts};
use crate::metrics::GatewayMetrics;
use crate::websocket::Refusal;

/// Builds a node of role gateway on these listeners.
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
    let listen =
        |error| BuildError::Listen { key: "gateway.listen", address: settings.gateway.listen, error };
    let address = listener.local_addr().map_err(listen)?;
    let info = node::describe(settings, RoleName::Gateway, id, &address.to_string());
    let node = Node::build(settings, info).await?;
    let faces = Faces::build(&node, settings).await?;
    let gateway = gateway(&node, &faces, settings)?;
    let serve = ServeSettings {
        header_read_timeout: settings.http.header_read_timeout,
        peer_timeout: settings.http.peer_timeout,
        // Those beyond the limit are told so by a close code, which takes a connection of its own.
        max_connections: settings.gateway.max_connections.saturating_add(256),
    };
    let server = Server::new("gateway", listener, gateway.router().fallback(async || Refusal::Path), serve);
    node.serve_http("gateway listener", server, settings.shutdown.deadline);
    node.serve_admin(admin);
    node.drain_connections(settings.shutdown.spread);
    Ok(App::new(node, vec![("WebSockets", address)]))
}

/// The gateway on a node, for whoever serves its route: this role, or all roles in one process.
///
/// # Errors
///
/// A setting that can't work.
pub fn gateway(node: &Node, faces: &Faces, settings: &Settings) -> Result<Arc<Gateway>, BuildError> {
    let drain = node.supervisor.at(Phase::Drain);
    let parts = Parts {
        node: node.info.id,
        identity: Arc::clone(&faces.identity),
        operations: node.operations.clone(),
        hub: Arc::clone(&node.hub),
        sessions: Arc::clone(&faces.sessions),
        catchup: Arc::clone(&faces.catchup),
        realtime: node.realtime.clone(),
        metrics: GatewayMetrics::register(node.metrics.registry(), node.connections.clone())?,
        tasks: drain.clone(),
    };
    Ok(Gateway::new(settings.gateway.clone(), settings.auth.refresh_grace, parts))
}
