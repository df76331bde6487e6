//! The role: retention and rescue on a node.

use std::sync::Arc;

use domain::NodeId;
use node::{App, BuildError, Node, RoleName, Settings};
use process::supervise::Phase;
use tokio::net::TcpListener;

use crate::rescue;
use crate::retention::{Retention, RetentionMetrics};

/// Builds a node of role worker; `admin` is its only listener.
///
/// # Errors
///
/// See [`BuildError`].
pub async fn build(settings: &Settings, id: NodeId, admin: TcpListener) -> Result<App, BuildError> {
    let listen = |error| BuildError::Listen(settings.admin.listen.to_string(), error);
    let address = admin.local_addr().map_err(listen)?;
    let info = node::describe(settings, RoleName::Worker, id, &address.to_string());
    let node = Node::build(settings, info).await?;
    install(&node, settings)?;
    node.serve_admin(admin);
    Ok(App::new(node, Vec::new()))
}

/// The work of a worker on a node, for this role, or for all roles in one process.
///
/// # Errors
///
/// A setting that can't work.
pub fn install(node: &Node, settings: &Settings) -> Result<(), BuildError> {
    settings.retention.check(settings.auth.access_ttl)?;
    let metrics = RetentionMetrics::register(node.metrics.registry())?;
    let (stopping, drain) = (node.supervisor.token(Phase::Intake), node.supervisor.at(Phase::Drain));
    let (drained, operations) = (drain.token(), node.operations.clone());
    let interval = settings.runs.rescue_interval;
    drain.critical("rescue of runs", async move {
        rescue::run(operations, interval, stopping).await;
        drained.cancelled().await;
    });
    let retention = Retention::new(Arc::clone(&node.store) as _, settings.retention.clone(), metrics);
    // It begins no batch once the node stops, and has the drain to end the one at hand.
    let (stopping, drain) = (node.supervisor.token(Phase::Intake), node.supervisor.at(Phase::Drain));
    let drained = drain.token();
    drain.critical("retention", async move {
        retention.run(stopping).await;
        drained.cancelled().await;
    });
    Ok(())
}
