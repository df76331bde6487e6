//! `/v1/tasks`: what is done again and again.

mod body;

use auth::SigningSecret;
use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use domain::RoomId;
use operations::NewHook;
use serde::{Deserialize, Serialize};
use store::tasks::TaskFilter;
use utoipa::{IntoParams, ToSchema};

pub use body::{HookBody, NewTaskBody, TaskChangesBody, TaskPath};

use crate::extract::cursor::{self, MAX_LIMIT, Page};
use crate::extract::{Address, IdempotencyKey, Json, OptionalJson, Path, Person, Query};
use crate::problem::Problem;
use crate::shapes::{ShownSecrets, TaskShape, time};
use crate::state::Api;

/// Times of a preview when no number is given.
const TIMES: u32 = 5;
/// Times of a preview at most.
const MAX_TIMES: u32 = 100;

/// Which tasks: the caller's own, those of a room, or all.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TasksQuery {
    /// Those of this room, which the caller is in.
    #[param(value_type = Option<Uuid>)]
    room_id: Option<RoomId>,
    /// All of them; for administrators.
    all: Option<bool>,
    /// `next` of the page before.
    #[param(min_length = 1)]
    cursor: Option<String>,
    /// Tasks of the page.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

impl TasksQuery {
    fn filter(&self) -> Result<TaskFilter, Problem> {
        match (self.room_id, self.all) {
            (Some(_), Some(true)) => Err(Problem::field("all", "can't stand beside room_id")),
            (Some(room), _) => Ok(TaskFilter::Room(room)),
            (None, Some(true)) => Ok(TaskFilter::All),
            (None, _) => Ok(TaskFilter::Own),
        }
    }
}

/// A schedule to be looked at.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewBody {
    /// The schedule.
    #[schema(max_length = 256)]
    schedule: String,
    /// Its zone; UTC when it is left out.
    timezone: Option<String>,
    /// How many times; 5 when it is left out.
    #[schema(minimum = 1, maximum = 100)]
    count: Option<u32>,
}

/// When a task with a schedule would run.
#[derive(Serialize, ToSchema)]
#[schema(as = Preview)]
pub struct PreviewShape {
    /// The schedule.
    schedule: String,
    /// Its zone, as the database of zones spells it.
    timezone: String,
    /// The next times, in order; fewer when there are no more.
    times: Vec<String>,
}

/// Makes a task. The same `Idempotency-Key` gives the same task, without what is secret.
#[utoipa::path(
    post,
    path = "/v1/tasks",
    operation_id = "createTask",
    tag = "tasks",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 64, pattern = "^[!-~]+$", description = "Makes the call safe to repeat")),
    request_body = NewTaskBody,
    responses(
        (status = 201, description = "Made; its secrets are shown this once", body = TaskShape),
        (status = 200, description = "Made before, by the same key", body = TaskShape)
    )
)]
pub async fn create(
    State(api): State<Api>,
    person: Person,
    address: Address,
    IdempotencyKey(key): IdempotencyKey,
    Json(body): Json<NewTaskBody>,
) -> Result<(StatusCode, Answer<TaskShape>), Problem> {
    let made = api.operations().create_task(body.read(person.user(), key)?).await?;
    let secrets = shown(&address, made.hook.as_ref(), made.webhook.as_ref());
    let status = if made.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Answer(TaskShape { secrets, ..made.task.into() })))
}

/// Tasks, the newest first.
#[utoipa::path(
    get,
    path = "/v1/tasks",
    operation_id = "listTasks",
    tag = "tasks",
    params(TasksQuery),
    responses((status = 200, description = "A page of tasks", body = Page<TaskShape>))
)]
pub async fn list(
    State(api): State<Api>,
    person: Person,
    Query(query): Query<TasksQuery>,
) -> Result<Answer<Page<TaskShape>>, Problem> {
    let (filter, limit) = (query.filter()?, cursor::limit(query.limit, MAX_LIMIT)?);
    let before = cursor::decode_id(query.cursor.as_deref())?;
    let tasks = api.operations().tasks(person.user(), filter, before, limit + 1).await?;
    Ok(Answer(Page::of(tasks, limit, |task| task.id.0, TaskShape::from)))
}

/// A task, for its owner, those in its room, and administrators.
#[utoipa::path(
    get,
    path = "/v1/tasks/{id}",
    operation_id = "getTask",
    tag = "tasks",
    params(TaskPath),
    responses((status = 200, description = "The task", body = TaskShape))
)]
pub async fn get(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<TaskPath>,
) -> Result<Answer<TaskShape>, Problem> {
    Ok(Answer(api.operations().task(person.user(), path.id).await?.into()))
}

/// Changes a task, by its owner. Who owns its room, and administrators, may pause it.
#[utoipa::path(
    patch,
    path = "/v1/tasks/{id}",
    operation_id = "editTask",
    tag = "tasks",
    params(TaskPath),
    request_body = TaskChangesBody,
    responses((status = 200, description = "The task as it is now; the secret of a webhook that is new is shown this once", body = TaskShape))
)]
pub async fn edit(
    State(api): State<Api>,
    person: Person,
    address: Address,
    Path(path): Path<TaskPath>,
    Json(body): Json<TaskChangesBody>,
) -> Result<Answer<TaskShape>, Problem> {
    let edited = api.operations().edit_task(person.user(), path.id, body.read()?).await?;
    let secrets = shown(&address, None, edited.webhook.as_ref());
    Ok(Answer(TaskShape { secrets, ..edited.task.into() }))
}

/// Deletes a task with its history, by its owner, who owns its room, or an administrator. A run that is worked on is asked to stop.
#[utoipa::path(
    delete,
    path = "/v1/tasks/{id}",
    operation_id = "deleteTask",
    tag = "tasks",
    params(TaskPath),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<TaskPath>,
) -> Result<StatusCode, Problem> {
    api.operations().delete_task(person.user(), path.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The next times of a schedule: those that a task made now would have.
#[utoipa::path(
    post,
    path = "/v1/tasks/preview",
    operation_id = "previewSchedule",
    tag = "tasks",
    request_body = PreviewBody,
    responses((status = 200, description = "The times", body = PreviewShape))
)]
pub async fn preview(
    State(api): State<Api>,
    _person: Person,
    Json(body): Json<PreviewBody>,
) -> Result<Answer<PreviewShape>, Problem> {
    let count = body.count.unwrap_or(TIMES);
    if !(1..=MAX_TIMES).contains(&count) {
        return Err(Problem::field("count", format!("{count} is not allowed; allowed is 1 to {MAX_TIMES}")));
    }
    let timezone = body.timezone.as_deref();
    let (schedule, times) = api.operations().preview(&body.schedule, timezone, count as usize).await?;
    Ok(Answer(PreviewShape {
        schedule: schedule.text().to_owned(),
        timezone: schedule.zone().to_owned(),
        times: times.into_iter().map(time).collect(),
    }))
}

/// Gives a task another hook, by its owner. The address before is good for nothing from then on.
#[utoipa::path(
    post,
    path = "/v1/tasks/{id}/hook",
    operation_id = "replaceHook",
    tag = "tasks",
    params(TaskPath),
    request_body = Option<HookBody>,
    responses((status = 200, description = "The task; address and secret of the hook are shown this once", body = TaskShape))
)]
pub async fn replace_hook(
    State(api): State<Api>,
    person: Person,
    address: Address,
    Path(path): Path<TaskPath>,
    OptionalJson(body): OptionalJson<HookBody>,
) -> Result<Answer<TaskShape>, Problem> {
    let signature = body.and_then(|body| body.signature());
    let (task, hook) = api.operations().replace_hook(person.user(), path.id, signature).await?;
    Ok(Answer(TaskShape { secrets: shown(&address, Some(&hook), None), ..task.into() }))
}

/// Gives the webhook of a task another secret, by its owner. Calls are signed with it from the next run on.
#[utoipa::path(
    post,
    path = "/v1/tasks/{id}/webhook-secret",
    operation_id = "replaceWebhookSecret",
    tag = "tasks",
    params(TaskPath),
    responses((status = 200, description = "The task; the secret is shown this once", body = TaskShape))
)]
pub async fn replace_webhook_secret(
    State(api): State<Api>,
    person: Person,
    address: Address,
    Path(path): Path<TaskPath>,
) -> Result<Answer<TaskShape>, Problem> {
    let (task, secret) = api.operations().replace_webhook_secret(person.user(), path.id).await?;
    Ok(Answer(TaskShape { secrets: shown(&address, None, Some(&secret)), ..task.into() }))
}

/// Takes the hook of a task away, by its owner.
#[utoipa::path(
    delete,
    path = "/v1/tasks/{id}/hook",
    operation_id = "removeHook",
    tag = "tasks",
    params(TaskPath),
    responses((status = 204, description = "It has none any more"))
)]
pub async fn remove_hook(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<TaskPath>,
) -> Result<StatusCode, Problem> {
    api.operations().remove_hook(person.user(), path.id).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn shown(address: &Address, hook: Option<&NewHook>, webhook: Option<&SigningSecret>) -> ShownSecrets {
    ShownSecrets {
        hook_url: hook.map(|hook| address.url(&format!("/v1/hooks/{}", hook.secret.reveal()))),
        hook_secret: hook.and_then(|hook| hook.signing.as_ref()).map(SigningSecret::reveal),
        webhook_secret: webhook.map(SigningSecret::reveal),
    }
}
