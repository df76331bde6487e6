//! `/v1/notifications`: what the caller should know of, and what became of it.

pub mod preferences;

use axum::Json as Answer;
use axum::extract::State;
use domain::{NotificationId, RoomId, UserId};
use serde::{Deserialize, Deserializer, Serialize};
use store::notifications::ReadWhat;
use utoipa::{IntoParams, ToSchema};

use crate::extract::cursor::{self, MAX_LIMIT, Page};
use crate::extract::{Json, Path, Person, Query};
use crate::problem::Problem;
use crate::shapes::{NotificationShape, StepShape, TraceShape, UnreadShape};
use crate::state::Api;

/// Which page of which notifications.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NotificationsQuery {
    /// Only those that were not read.
    unread: Option<bool>,
    /// `next` of the page before.
    #[param(min_length = 1)]
    cursor: Option<String>,
    /// Items of the page.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

/// Which notification.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct NotificationPath {
    /// Which.
    #[param(value_type = Uuid)]
    id: NotificationId,
}

/// A page of notifications, and how many were not read in all.
#[derive(Serialize, ToSchema)]
#[schema(as = Notifications)]
pub struct NotificationsShape {
    /// The notifications, the newest first.
    items: Vec<NotificationShape>,
    /// What to pass as `cursor` for the next page; null after the last.
    next: Option<String>,
    /// What was not read, on this page or not.
    unread: UnreadShape,
}

/// What was read: either `ids`, or `room_id` and `up_to` or one of them, or nothing, which is everything.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ReadNotifications)]
pub struct ReadBody {
    /// These.
    #[schema(value_type = Option<Vec<Uuid>>, min_items = 1, max_items = 500)]
    #[serde(default, deserialize_with = "given")]
    ids: Option<Vec<NotificationId>>,
    /// Those of this room.
    #[schema(value_type = Option<Uuid>)]
    #[serde(default, deserialize_with = "given")]
    room_id: Option<RoomId>,
    /// Up to this one: what came after it was not seen.
    #[schema(value_type = Option<Uuid>)]
    #[serde(default, deserialize_with = "given")]
    up_to: Option<NotificationId>,
}

impl ReadBody {
    fn read(self) -> Result<ReadWhat, Problem> {
        match self {
            Self { ids: Some(ids), room_id: None, up_to: None } => Ok(ReadWhat::Ids(ids)),
            Self { ids: None, room_id: room, up_to } => Ok(ReadWhat::UpTo { room, up_to }),
            _ => Err(Problem::field("ids", "can't stand beside room_id and up_to")),
        }
    }
}

/// A field that is there has a value: one that a client forgot to fill must not mean all notifications.
fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// What is left to read.
#[derive(Serialize, ToSchema)]
#[schema(as = Left)]
pub struct LeftShape {
    /// What was not read.
    unread: UnreadShape,
}

/// The caller's notifications, the newest first. What was deleted is left out.
#[utoipa::path(
    get,
    path = "/v1/notifications",
    operation_id = "listNotifications",
    tag = "notifications",
    params(NotificationsQuery),
    responses((status = 200, description = "A page of notifications", body = NotificationsShape))
)]
pub async fn list(
    State(api): State<Api>,
    person: Person,
    Query(query): Query<NotificationsQuery>,
) -> Result<Answer<NotificationsShape>, Problem> {
    let limit = cursor::limit(query.limit, MAX_LIMIT)?;
    let before = cursor::decode_id(query.cursor.as_deref())?;
    let unread_only = query.unread.unwrap_or(false);
    let found = api.store().notifications(person.user(), before, unread_only, limit + 1).await?;
    let Page { items, next } = Page::of(found, limit, |found| found.id.0, NotificationShape::from);
    Ok(Answer(NotificationsShape { items, next, unread: unread(&api, person.user()).await? }))
}

/// Marks notifications as read, on all of the caller's devices. What is not theirs is passed over.
#[utoipa::path(
    post,
    path = "/v1/notifications/read",
    operation_id = "readNotifications",
    tag = "notifications",
    request_body = ReadBody,
    responses((status = 200, description = "What is left to read", body = LeftShape))
)]
pub async fn read(
    State(api): State<Api>,
    person: Person,
    Json(body): Json<ReadBody>,
) -> Result<Answer<LeftShape>, Problem> {
    api.operations().read_notifications(person.user(), &body.read()?).await?;
    Ok(Answer(LeftShape { unread: unread(&api, person.user()).await? }))
}

/// Why a notification of the caller was or was not hinted at and pushed, and when.
#[utoipa::path(
    get,
    path = "/v1/notifications/{id}/trace",
    operation_id = "traceNotification",
    tag = "notifications",
    params(NotificationPath),
    responses((status = 200, description = "The notification, and what became of it", body = TraceShape))
)]
pub async fn trace(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<NotificationPath>,
) -> Result<Answer<TraceShape>, Problem> {
    let traced = api.store().notification_trace(person.user(), path.id).await?;
    let (notification, steps) = traced.ok_or_else(|| Problem::not_found("notification"))?;
    let steps = steps.into_iter().map(StepShape::from).collect();
    Ok(Answer(TraceShape { notification: notification.into(), steps }))
}

async fn unread(api: &Api, person: UserId) -> Result<UnreadShape, Problem> {
    Ok(api.store().unread(person).await?.into())
}
