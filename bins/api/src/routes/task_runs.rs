//! `/v1/tasks/{id}/run`, `/v1/tasks/{id}/runs` and `/v1/task-runs/{id}`: attempts at tasks.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use domain::TaskRunId;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::extract::cursor::{self, MAX_RUNS, Page};
use crate::extract::{IdempotencyKey, Path, Person, Query};
use crate::problem::Problem;
use crate::routes::tasks::TaskPath;
use crate::shapes::TaskRunShape;
use crate::state::Api;

/// Which run.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct TaskRunPath {
    /// Which.
    #[param(value_type = Uuid)]
    id: TaskRunId,
}

/// Which page.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TaskRunsQuery {
    /// `next` of the page before.
    #[param(min_length = 1)]
    cursor: Option<String>,
    /// Runs of the page.
    #[param(minimum = 1, maximum = 50)]
    limit: Option<u32>,
}

/// Queues a run of a task now, by its owner; also of one that is paused. The same `Idempotency-Key` queues nothing again.
#[utoipa::path(
    post,
    path = "/v1/tasks/{id}/run",
    operation_id = "runTask",
    tag = "tasks",
    params(
        TaskPath,
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 64, pattern = "^[!-~]+$", description = "Makes the call safe to repeat")
    ),
    responses(
        (status = 202, description = "Queued", body = TaskRunShape),
        (status = 200, description = "Queued before, by the same key: the run as it stands", body = TaskRunShape)
    )
)]
pub async fn run(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<TaskPath>,
    IdempotencyKey(key): IdempotencyKey,
) -> Result<(StatusCode, Answer<TaskRunShape>), Problem> {
    let (run, repeated) = api.operations().run_task(person.user(), path.id, key.as_deref()).await?;
    let status = if repeated { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Answer(run.into())))
}

/// The runs of a task, the newest first. A tick that nothing has been tried for is none.
#[utoipa::path(
    get,
    path = "/v1/tasks/{id}/runs",
    operation_id = "listTaskRuns",
    tag = "tasks",
    params(TaskPath, TaskRunsQuery),
    responses((status = 200, description = "A page of runs", body = Page<TaskRunShape>))
)]
pub async fn list(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<TaskPath>,
    Query(query): Query<TaskRunsQuery>,
) -> Result<Answer<Page<TaskRunShape>>, Problem> {
    let limit = cursor::limit(query.limit, MAX_RUNS)?;
    let before = cursor::decode_id(query.cursor.as_deref())?;
    let runs = api.operations().task_runs(person.user(), path.id, before, limit + 1).await?;
    Ok(Answer(Page::of(runs, limit, |run| run.id.0, TaskRunShape::from)))
}

/// A run, for those who may read its task.
#[utoipa::path(
    get,
    path = "/v1/task-runs/{id}",
    operation_id = "getTaskRun",
    tag = "tasks",
    params(TaskRunPath),
    responses((status = 200, description = "The run", body = TaskRunShape))
)]
pub async fn get(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<TaskRunPath>,
) -> Result<Answer<TaskRunShape>, Problem> {
    Ok(Answer(api.operations().task_run(person.user(), path.id).await?.into()))
}

/// Stops a run, by the owner of its task, who owns its room, or an administrator. Again changes nothing; one that has come to another end can't be stopped.
#[utoipa::path(
    post,
    path = "/v1/task-runs/{id}/cancel",
    operation_id = "cancelTaskRun",
    tag = "tasks",
    params(TaskRunPath),
    responses((status = 200, description = "The run: cancelled, or asked to stop", body = TaskRunShape))
)]
pub async fn cancel(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<TaskRunPath>,
) -> Result<Answer<TaskRunShape>, Problem> {
    Ok(Answer(api.operations().cancel_task_run(person.user(), path.id).await?.into()))
}
