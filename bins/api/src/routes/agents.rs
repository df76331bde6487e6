//! `/v1/agents`: programs that people make members of rooms.

use auth::{AuthError, NewAgentToken};
use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use domain::AgentId;
use operations::CreateAgent;
use serde::{Deserialize, Serialize};
use store::agents::AgentSettings;
use utoipa::{IntoParams, ToSchema};

use crate::extract::cursor::{self, MAX_LIMIT, Page};
use crate::extract::{Agent, Caller, IdempotencyKey, Json, Path, Person, Query};
use crate::problem::Problem;
use crate::routes::devices::PageQuery;
use crate::shapes::AgentShape;
use crate::state::Api;

/// Which agent.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct AgentPath {
    /// Which.
    #[param(value_type = Uuid)]
    pub(super) id: AgentId,
}

/// An agent to be made.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAgentBody {
    /// The unique handle: a-z, 0-9, `.`, `_`, `-`; neither a person's nor another agent's.
    #[schema(min_length = 2, max_length = 32, pattern = "^[a-z0-9]([a-z0-9._-]*[a-z0-9])$")]
    handle: String,
    /// The name that people read; the handle when there is none.
    #[schema(min_length = 1, max_length = 80)]
    display_name: Option<String>,
    /// Runs it is given at one time; `agents.max_runs` when there is none.
    #[schema(minimum = 1, maximum = 100)]
    max_runs: Option<u32>,
}

/// Changes of an agent; what is left out stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentSettingsBody {
    /// A new name for people to read.
    #[schema(min_length = 1, max_length = 80)]
    display_name: Option<String>,
    /// Runs it is given at one time.
    #[schema(minimum = 1, maximum = 100)]
    max_runs: Option<u32>,
}

/// An agent that was made.
#[derive(Serialize, ToSchema)]
#[schema(as = NewAgent)]
pub struct NewAgentShape {
    /// The agent.
    #[serde(flatten)]
    agent: AgentShape,
    /// Signs it in, as `Authorization: Bearer`. Shown this once; not there when the agent was made before.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

/// A token of an agent.
#[derive(Serialize, ToSchema)]
#[schema(as = AgentToken)]
pub struct AgentTokenShape {
    /// Signs it in, as `Authorization: Bearer`. Shown this once.
    token: String,
}

/// Makes an agent. The same `Idempotency-Key` gives the same agent, without its token.
#[utoipa::path(
    post,
    path = "/v1/agents",
    operation_id = "createAgent",
    tag = "agents",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 64, pattern = "^[!-~]+$", description = "Makes the call safe to repeat")),
    request_body = NewAgentBody,
    responses(
        (status = 201, description = "Made", body = NewAgentShape),
        (status = 200, description = "Made before, by the same key", body = NewAgentShape)
    )
)]
pub async fn create(
    State(api): State<Api>,
    person: Person,
    IdempotencyKey(key): IdempotencyKey,
    Json(body): Json<NewAgentBody>,
) -> Result<(StatusCode, Answer<NewAgentShape>), Problem> {
    let token = NewAgentToken::generate()?;
    let create = CreateAgent {
        owner: person.user(),
        handle: body.handle,
        display_name: body.display_name,
        max_runs: body.max_runs,
        token: token.kept,
        key,
    };
    let (agent, created) = api.operations().create_agent(create).await?;
    let (status, token) = if created {
        (StatusCode::CREATED, Some(token.secret.into_string()))
    } else {
        (StatusCode::OK, None)
    };
    Ok((status, Answer(NewAgentShape { agent: agent.into(), token })))
}

/// The agents that are not revoked, whoever made them.
#[utoipa::path(
    get,
    path = "/v1/agents",
    operation_id = "listAgents",
    tag = "agents",
    params(PageQuery),
    responses((status = 200, description = "A page of agents", body = Page<AgentShape>))
)]
pub async fn list(
    State(api): State<Api>,
    _caller: Caller,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<AgentShape>>, Problem> {
    let limit = cursor::limit(query.limit, MAX_LIMIT)?;
    let after = cursor::decode_id(query.cursor.as_deref())?;
    let agents = api.store().agents(after, limit + 1).await?;
    Ok(Answer(Page::of(agents, limit, |agent| agent.id.0, AgentShape::from)))
}

/// The caller, an agent.
#[utoipa::path(
    get,
    path = "/v1/agents/me",
    operation_id = "getOwnAgent",
    tag = "agents",
    responses((status = 200, description = "The caller", body = AgentShape))
)]
pub async fn me(State(api): State<Api>, caller: Agent) -> Result<Answer<AgentShape>, Problem> {
    match api.store().agent(caller.id).await? {
        Some(agent) => Ok(Answer(agent.into())),
        None => Err(AuthError::SessionRevoked.into()),
    }
}

/// An agent, revoked ones too: history names them.
#[utoipa::path(
    get,
    path = "/v1/agents/{id}",
    operation_id = "getAgent",
    tag = "agents",
    params(AgentPath),
    responses((status = 200, description = "The agent", body = AgentShape))
)]
pub async fn get(
    State(api): State<Api>,
    _caller: Caller,
    Path(path): Path<AgentPath>,
) -> Result<Answer<AgentShape>, Problem> {
    let agent = api.store().agent(path.id).await?;
    agent.map(|agent| Answer(agent.into())).ok_or_else(|| Problem::not_found("agent"))
}

/// Changes an agent; by its owner or an administrator.
#[utoipa::path(
    patch,
    path = "/v1/agents/{id}",
    operation_id = "setAgentSettings",
    tag = "agents",
    params(AgentPath),
    request_body = AgentSettingsBody,
    responses((status = 200, description = "The agent as it is now", body = AgentShape))
)]
pub async fn settings(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<AgentPath>,
    Json(body): Json<AgentSettingsBody>,
) -> Result<Answer<AgentShape>, Problem> {
    let settings = AgentSettings { display_name: body.display_name, max_runs: body.max_runs };
    let agent = api.operations().set_agent_settings(person.user(), path.id, &settings).await?;
    Ok(Answer(agent.into()))
}

/// Gives an agent another token, by its owner or an administrator. The former one is worth nothing from then on, and
/// connections that came by it close.
#[utoipa::path(
    post,
    path = "/v1/agents/{id}/token",
    operation_id = "rotateAgentToken",
    tag = "agents",
    params(AgentPath),
    responses((status = 200, description = "The token", body = AgentTokenShape))
)]
pub async fn rotate_token(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<AgentPath>,
) -> Result<Answer<AgentTokenShape>, Problem> {
    let token = NewAgentToken::generate()?;
    api.operations().rotate_agent_token(person.user(), path.id, &token.kept).await?;
    tracing::info!(agent = %path.id, by = %person.user(), "the token of an agent was rotated");
    Ok(Answer(AgentTokenShape { token: token.secret.into_string() }))
}

/// Revokes an agent for good, by its owner or an administrator. It stays a member of its rooms, so that history keeps its name.
#[utoipa::path(
    delete,
    path = "/v1/agents/{id}",
    operation_id = "revokeAgent",
    tag = "agents",
    params(AgentPath),
    responses((status = 204, description = "Revoked, or it was before"))
)]
pub async fn revoke(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<AgentPath>,
) -> Result<StatusCode, Problem> {
    api.operations().revoke_agent(person.user(), path.id).await?;
    tracing::info!(agent = %path.id, by = %person.user(), "an agent was revoked");
    Ok(StatusCode::NO_CONTENT)
}
