//! `/v1/admin`: for administrators.

pub mod keys;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::UserId;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::extract::{Admin, Json as Body, Path};
use crate::problem::Problem;
use crate::shapes::NodeShape;
use crate::state::Api;

/// The cluster.
#[derive(Serialize, ToSchema)]
#[schema(as = Cluster)]
pub struct ClusterShape {
    /// The node that answers.
    node: Uuid,
    /// The life of the log.
    log_epoch: Uuid,
    /// Every node, by role and start.
    nodes: Vec<NodeShape>,
}

/// Whether workers take up runs of tasks.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Scheduler)]
pub struct SchedulerShape {
    /// Off, nothing is begun, on no node; what is under way goes on.
    enabled: bool,
}

/// Which person.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PersonPath {
    /// Who.
    #[param(value_type = Uuid)]
    id: UserId,
}

/// The nodes of the cluster.
#[utoipa::path(
    get,
    path = "/v1/admin/cluster",
    operation_id = "getCluster",
    tag = "admin",
    responses((status = 200, description = "The cluster", body = ClusterShape))
)]
pub async fn cluster(State(api): State<Api>, _admin: Admin) -> Result<Json<ClusterShape>, Problem> {
    let nodes = api.store().nodes().await?.into_iter().map(NodeShape::from).collect();
    let log_epoch = api.store().log_epoch().await?;
    Ok(Json(ClusterShape { node: api.node().0, log_epoch: log_epoch.0, nodes }))
}

/// Disables an account: all its sign-ins end, and with them its connections and those of its agents on every node.
#[utoipa::path(
    post,
    path = "/v1/admin/users/{id}/disable",
    operation_id = "disableUser",
    tag = "admin",
    params(PersonPath),
    responses((status = 204, description = "Disabled"))
)]
pub async fn disable(
    State(api): State<Api>,
    admin: Admin,
    Path(path): Path<PersonPath>,
) -> Result<StatusCode, Problem> {
    if admin.user.id == path.id {
        let conflict = store::Refusal::Conflict("an administrator can't disable themself");
        return Err(store::StoreError::from(conflict).into());
    }
    let ended = api.identity().set_disabled(path.id, true).await?;
    tracing::info!(user = %path.id, by = %admin.user.id, sign_ins = ended.len(), "an account was disabled");
    api.operations().person_disabled(path.id, &ended).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Enables an account again.
#[utoipa::path(
    post,
    path = "/v1/admin/users/{id}/enable",
    operation_id = "enableUser",
    tag = "admin",
    params(PersonPath),
    responses((status = 204, description = "Enabled"))
)]
pub async fn enable(
    State(api): State<Api>,
    admin: Admin,
    Path(path): Path<PersonPath>,
) -> Result<StatusCode, Problem> {
    api.identity().set_disabled(path.id, false).await?;
    tracing::info!(user = %path.id, by = %admin.user.id, "an account was enabled");
    Ok(StatusCode::NO_CONTENT)
}

/// Whether workers take up runs of tasks.
#[utoipa::path(
    get,
    path = "/v1/admin/scheduler",
    operation_id = "getScheduler",
    tag = "admin",
    responses((status = 200, description = "Whether they do", body = SchedulerShape))
)]
pub async fn scheduler(State(api): State<Api>, _admin: Admin) -> Result<Json<SchedulerShape>, Problem> {
    Ok(Json(SchedulerShape { enabled: api.operations().scheduler_enabled().await? }))
}

/// Switches the workers of all nodes on or off.
#[utoipa::path(
    put,
    path = "/v1/admin/scheduler",
    operation_id = "switchScheduler",
    tag = "admin",
    request_body = SchedulerShape,
    responses((status = 200, description = "As it is now", body = SchedulerShape))
)]
pub async fn switch_scheduler(
    State(api): State<Api>,
    admin: Admin,
    Body(body): Body<SchedulerShape>,
) -> Result<Json<SchedulerShape>, Problem> {
    api.operations().switch_scheduler(admin.user.id, body.enabled).await?;
    Ok(Json(body))
}
