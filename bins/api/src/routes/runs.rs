//! `/v1/rooms/{id}/runs` and `/v1/runs/{id}`: pieces of work of agents.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use domain::{AgentId, RunId};
use operations::{BuiltRun, RequestRun};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::extract::cursor::{self, MAX_RUNS, Page};
use crate::extract::{Caller, Free, IdempotencyKey, Json, Path, Query};
use crate::problem::Problem;
use crate::routes::rooms::RoomPath;
use crate::shapes::RunShape;
use crate::state::Api;

/// A run that is asked for.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRunBody {
    /// Who is to work; an agent in the room.
    #[schema(value_type = uuid::Uuid)]
    agent_id: AgentId,
    /// What it is asked; any JSON.
    #[schema(value_type = serde_json::Value)]
    input: Free,
    /// Makes the call safe to repeat: unique for caller and agent. `Idempotency-Key` does the same.
    #[schema(min_length = 1, max_length = 64)]
    nonce: Option<String>,
}

/// Which run.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RunPath {
    /// Which.
    #[param(value_type = uuid::Uuid)]
    pub(super) id: RunId,
}

/// Which part: the newest runs, or those before one.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RunsQuery {
    /// Runs that were made before this one.
    #[param(value_type = Option<uuid::Uuid>)]
    before: Option<RunId>,
    /// `next` of the page before.
    #[param(min_length = 1)]
    cursor: Option<String>,
    /// Runs of the page.
    #[param(minimum = 1, maximum = 50)]
    limit: Option<u32>,
}

impl RunsQuery {
    fn before(&self) -> Result<Option<RunId>, Problem> {
        match (self.before, self.cursor.as_deref()) {
            (Some(_), Some(_)) => Err(Problem::field("cursor", "can't stand beside before")),
            (Some(run), None) => Ok(Some(run)),
            (None, cursor) => cursor::decode_id(cursor),
        }
    }
}

/// Asks an agent for a run. The same nonce gives the same run.
#[utoipa::path(
    post,
    path = "/v1/rooms/{id}/runs",
    operation_id = "createRun",
    tag = "runs",
    params(
        RoomPath,
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 64, pattern = "^[!-~]+$", description = "The nonce, when the body has none")
    ),
    request_body = NewRunBody,
    responses(
        (status = 201, description = "Made", body = RunShape),
        (status = 200, description = "Made before, by the same nonce: the run as it stands", body = RunShape)
    )
)]
pub async fn create(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<RoomPath>,
    IdempotencyKey(key): IdempotencyKey,
    Json(body): Json<NewRunBody>,
) -> Result<(StatusCode, Answer<RunShape>), Problem> {
    let request = RequestRun {
        room: path.id,
        agent: body.agent_id,
        requester: caller.principal(),
        input: body.input.0,
        nonce: body.nonce.or(key),
    };
    let made = api.operations().request_run(request).await?;
    let status = if made.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Answer(BuiltRun::try_from(made.run)?.into())))
}

/// The runs of a room, the newest first.
#[utoipa::path(
    get,
    path = "/v1/rooms/{id}/runs",
    operation_id = "listRuns",
    tag = "runs",
    params(RoomPath, RunsQuery),
    responses((status = 200, description = "A page of runs", body = Page<RunShape>))
)]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<RoomPath>,
    Query(query): Query<RunsQuery>,
) -> Result<Answer<Page<RunShape>>, Problem> {
    let (before, limit) = (query.before()?, cursor::limit(query.limit, MAX_RUNS)?);
    let runs = api.operations().runs_of_room(caller.principal(), path.id, before, limit + 1).await?;
    Ok(Answer(Page::of(runs, limit, |built| built.run.id.0, RunShape::from)))
}

/// A run, for those in its room.
#[utoipa::path(
    get,
    path = "/v1/runs/{id}",
    operation_id = "getRun",
    tag = "runs",
    params(RunPath),
    responses((status = 200, description = "The run", body = RunShape))
)]
pub async fn get(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<RunPath>,
) -> Result<Answer<RunShape>, Problem> {
    Ok(Answer(api.operations().run(caller.principal(), path.id).await?.into()))
}

/// Asks for a run to be stopped: by who asked for it, the agent, its owner, or an owner of the room. Asking again changes nothing.
#[utoipa::path(
    post,
    path = "/v1/runs/{id}/cancel",
    operation_id = "cancelRun",
    tag = "runs",
    params(RunPath),
    responses((status = 200, description = "The run: cancelled, or asked to stop", body = RunShape))
)]
pub async fn cancel(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<RunPath>,
) -> Result<Answer<RunShape>, Problem> {
    Ok(Answer(api.operations().cancel_run(caller.principal(), path.id).await?.into()))
}
