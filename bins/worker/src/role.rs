//! The role: tasks, retention, rescue and presence of who is gone, on a node.

use std::sync::Arc;

use domain::NodeId;
use node::{App, BuildError, ClusterMode, Node, RoleName, Settings};
use outbound::Outbound;
use process::supervise::Phase;
use store::retention::TaskRunLimits;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::notifications::{Decisions, Deliveries, NotificationMetrics};
use crate::presence;
use crate::rescue;
use crate::retention::{Retention, RetentionMetrics};
use crate::scheduler::{Actions, Scheduler, SchedulerMetrics, SystemJobs, lost};

/// Builds a node of role worker; `admin` is its only listener.
///
/// # Errors
///
/// See [`BuildError`].
pub async fn build(settings: &Settings, id: NodeId, admin: TcpListener) -> Result<App, BuildError> {
    let listen = |error| BuildError::Listen { key: "admin.listen", address: settings.admin.listen, error };
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
    if settings.cluster.mode == ClusterMode::Multi {
        let (operations, metrics) = (node.operations.clone(), metrics.clone());
        let (stopping, drained) = (node.supervisor.token(Phase::Intake), drain.token());
        drain.critical("reaper of presence", async move {
            presence::run(operations, metrics, stopping).await;
            drained.cancelled().await;
        });
    }
    let task_runs = TaskRunLimits {
        max_age: settings.tasks.history_max_age,
        max_per_task: settings.tasks.history_max_per_task,
        deliveries: settings.tasks.deliveries_kept,
    };
    let housekeeping = || {
        Retention::new(Arc::clone(&node.store) as _, settings.retention.clone(), task_runs, metrics.clone())
    };
    let retention = housekeeping();
    notify(node, settings)?;
    if settings.scheduler.enabled {
        schedule(node, settings, housekeeping())?;
    }
    // It begins no batch once the node stops, and has the drain to end the one at hand.
    let (stopping, drain) = (node.supervisor.token(Phase::Intake), node.supervisor.at(Phase::Drain));
    let drained = drain.token();
    drain.critical("retention", async move {
        retention.run(stopping).await;
        drained.cancelled().await;
    });
    Ok(())
}

/// Decisions on notifications, and pushes.
fn notify(node: &Node, settings: &Settings) -> Result<(), BuildError> {
    let metrics = NotificationMetrics::register(node.metrics.registry())?;
    let pushes = Arc::<Notify>::default();
    let decisions = Decisions {
        node: node.info.id,
        operations: node.operations.clone(),
        view: Arc::clone(&node.presence_view),
        settings: settings.push.clone(),
        metrics: metrics.clone(),
        pushes: Arc::clone(&pushes),
    };
    let deliveries = Deliveries {
        node: node.info.id,
        store: Arc::clone(&node.store),
        view: Arc::clone(&node.presence_view),
        settings: settings.push.clone(),
        metrics,
        wake: pushes,
    };
    let (stopping, drain) = (node.supervisor.token(Phase::Intake), node.supervisor.at(Phase::Drain));
    let (drained, stopped) = (drain.token(), stopping.clone());
    drain.critical("decisions on notifications", async move {
        decisions.run(stopped).await;
        drained.cancelled().await;
    });
    let drained = drain.token();
    drain.critical("pushes", async move {
        deliveries.run(stopping).await;
        drained.cancelled().await;
    });
    Ok(())
}

/// Work on tasks.
fn schedule(node: &Node, settings: &Settings, retention: Retention) -> Result<(), BuildError> {
    settings.scheduler.check()?;
    let metrics = SchedulerMetrics::register(node.metrics.registry())?;
    let outbound = Outbound::new(&settings.outbound).map_err(|error| {
        tracing::warn!(%error, "no webhooks can be called");
        error.to_string()
    });
    let actions = Actions {
        operations: node.operations.clone(),
        outbound,
        webhook_timeout: settings.scheduler.webhook_timeout,
        max_output_bytes: settings.scheduler.max_output_bytes,
        max_body_bytes: settings.messages.max_body_bytes,
        system: SystemJobs {
            retention,
            signing_key: settings.signing_key.clone(),
            secrets: settings.secrets.clone(),
        },
    };
    let (stopping, drain) = (node.supervisor.token(Phase::Intake), node.supervisor.at(Phase::Drain));
    let looking = lost::run(
        Arc::clone(&node.store),
        settings.scheduler.clone(),
        metrics.clone(),
        node.operations.task_wake(),
        stopping.clone(),
    );
    let drained = drain.token();
    drain.critical("lost runs of tasks", async move {
        looking.await;
        drained.cancelled().await;
    });
    let scheduler = Scheduler {
        node: node.info.id,
        operations: node.operations.clone(),
        actions: Arc::new(actions),
        settings: settings.scheduler.clone(),
        metrics,
    };
    let drained = drain.token();
    drain.critical("scheduler", async move {
        scheduler.run(stopping).await;
        drained.cancelled().await;
    });
    Ok(())
}
