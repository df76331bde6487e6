//! `/v1/runs/{id}/tool-calls` and `/v1/tool-calls`: tools in somebody's browser.

use std::time::Duration;

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use domain::{ToolCallId, UserId};
use operations::CallTool;
use protocol::frame::ToolOutcome;
use serde::Deserialize;
use store::tools::ToolCall;
use utoipa::{IntoParams, ToSchema};

use crate::extract::cursor::Page;
use crate::extract::free::given;
use crate::extract::{Agent, Caller, Free, IdempotencyKey, Json, Lasting, Path, Person, Query, WaitQuery};
use crate::layers::deadline::Patience;
use crate::problem::Problem;
use crate::routes::runs::RunPath;
use crate::shapes::ToolCallShape;
use crate::state::Api;

/// A call of a tool.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CallBody {
    /// Which tool.
    #[schema(min_length = 1, max_length = 80)]
    tool: String,
    /// What it is given; any JSON.
    #[schema(value_type = serde_json::Value)]
    args: Free,
    /// Who is asked; a person in the run's room.
    #[schema(value_type = uuid::Uuid)]
    user_id: UserId,
    /// How long the person has: seconds as a number, or text such as `90s`. `tools.default_timeout` when it is left out.
    #[schema(value_type = Option<String>, example = "90s")]
    timeout: Option<Lasting>,
    /// Makes the call safe to repeat: unique in the run. `Idempotency-Key` does the same.
    #[schema(min_length = 1, max_length = 64)]
    nonce: Option<String>,
}

/// What came of a call: either `result` or `error`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResultBody {
    /// What the tool gave; any JSON, `null` too.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<serde_json::Value>)]
    result: Option<Free>,
    /// Why it gave nothing.
    error: Option<String>,
}

impl ResultBody {
    fn outcome(self) -> Result<ToolOutcome, Problem> {
        match (self.result, self.error) {
            (Some(result), None) => Ok(ToolOutcome::Result(result.0)),
            (None, Some(error)) => Ok(ToolOutcome::Error(error)),
            (None, None) => Err(Problem::field("result", "is missing (or error)")),
            (Some(_), Some(_)) => Err(Problem::field("error", "can't stand beside result")),
        }
    }
}

/// Which call.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct CallPath {
    /// Which.
    #[param(value_type = uuid::Uuid)]
    id: ToolCallId,
}

/// Which calls.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PendingQuery {
    /// How they stand: only those that are pending are listed.
    #[param(value_type = Option<String>, pattern = "^pending$")]
    #[expect(dead_code, reason = "there is one value, and it is the default")]
    status: Option<Listed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Listed {
    Pending,
}

/// Calls a tool in a person's browser, for the agent of the run. With `wait` the answer has the result, if it comes in time. The
/// same nonce gives the same call.
#[utoipa::path(
    post,
    path = "/v1/runs/{id}/tool-calls",
    operation_id = "callTool",
    tag = "runs",
    params(
        RunPath,
        WaitQuery,
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 64, pattern = "^[!-~]+$", description = "The nonce, when the body has none")
    ),
    request_body = CallBody,
    responses(
        (status = 201, description = "Called: the call as it stands now", body = ToolCallShape),
        (status = 200, description = "Called before, by the same nonce: the call as it stands now", body = ToolCallShape)
    )
)]
pub async fn call(
    State(api): State<Api>,
    agent: Agent,
    patience: Patience,
    Path(path): Path<RunPath>,
    Query(query): Query<WaitQuery>,
    IdempotencyKey(key): IdempotencyKey,
    Json(body): Json<CallBody>,
) -> Result<(StatusCode, Answer<ToolCallShape>), Problem> {
    let call = CallTool {
        run: path.id,
        agent: agent.id,
        holder: None,
        user: body.user_id,
        tool: body.tool,
        args: body.args.0,
        timeout: body.timeout.map(|timeout| timeout.0),
        nonce: body.nonce.or(key),
    };
    let called = api.operations().call_tool(call).await?;
    let status = if called.created { StatusCode::CREATED } else { StatusCode::OK };
    patience.wait(query.wait);
    let stands = answered(&api, called.call, query.wait).await;
    Ok((status, Answer(stands.into())))
}

/// The call once it is answered, or as it stands after at most `wait` or when the node drains.
async fn answered(api: &Api, call: ToolCall, wait: Duration) -> ToolCall {
    if wait.is_zero() {
        return call;
    }
    let waiting = api.operations().wait_for_tool(call.id, wait);
    match api.draining().run_until_cancelled(waiting).await {
        Some(Ok(stands)) => stands,
        Some(Err(error)) => {
            // The call is made: who made it learns its id, and asks again how it stands.
            tracing::warn!(%error, call = %call.id, "can't wait for the result of a tool call");
            call
        }
        None => call,
    }
}

/// A call, for the agent that made it and the person who is asked.
#[utoipa::path(
    get,
    path = "/v1/tool-calls/{id}",
    operation_id = "getToolCall",
    tag = "runs",
    params(CallPath),
    responses((status = 200, description = "The call", body = ToolCallShape))
)]
pub async fn get(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<CallPath>,
) -> Result<Answer<ToolCallShape>, Problem> {
    Ok(Answer(api.operations().tool_call(caller.principal(), path.id).await?.into()))
}

/// The calls that the caller has not answered and still may, all on one page.
#[utoipa::path(
    get,
    path = "/v1/tool-calls",
    operation_id = "listToolCalls",
    tag = "runs",
    params(PendingQuery),
    responses((status = 200, description = "The calls", body = Page<ToolCallShape>))
)]
pub async fn pending(
    State(api): State<Api>,
    person: Person,
    Query(_): Query<PendingQuery>,
) -> Result<Answer<Page<ToolCallShape>>, Problem> {
    let calls = api.operations().pending_tools(person.user()).await?;
    Ok(Answer(Page { items: calls.into_iter().map(ToolCallShape::from).collect(), next: None }))
}

/// Answers a call, by the person who is asked. The first answer counts.
#[utoipa::path(
    post,
    path = "/v1/tool-calls/{id}/result",
    operation_id = "resolveToolCall",
    tag = "runs",
    params(CallPath),
    request_body = ResultBody,
    responses((status = 200, description = "The call, answered", body = ToolCallShape))
)]
pub async fn resolve(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<CallPath>,
    Json(body): Json<ResultBody>,
) -> Result<Answer<ToolCallShape>, Problem> {
    let resolved = api.operations().resolve_tool(person.user(), path.id, body.outcome()?).await?;
    Ok(Answer(resolved.into()))
}
