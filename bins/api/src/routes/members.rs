//! `/v1/rooms/{id}/members`.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use domain::{Principal, RoomId, UserId};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::extract::{Caller, Json, OptionalJson, Path, Query};
use crate::problem::Problem;
use crate::routes::rooms::{RoomPath, view};
use crate::shapes::RoomShape;
use crate::state::Api;

/// People: one by `user_id`, or several by `members`.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PeopleBody {
    /// One person.
    #[schema(value_type = Option<uuid::Uuid>)]
    user_id: Option<UserId>,
    /// Several.
    #[serde(default)]
    #[schema(value_type = Vec<uuid::Uuid>)]
    members: Vec<UserId>,
}

impl PeopleBody {
    fn people(self) -> Vec<Principal> {
        self.members.into_iter().chain(self.user_id).map(Principal::User).collect()
    }
}

/// Who is removed, in the query.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RemoveQuery {
    /// Who; the caller's own id to leave. It may stand in the body instead.
    #[param(value_type = Option<uuid::Uuid>)]
    user_id: Option<UserId>,
}

/// Which member.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MemberPath {
    /// Of which room.
    #[param(value_type = uuid::Uuid)]
    id: RoomId,
    /// Who.
    #[param(value_type = uuid::Uuid)]
    user_id: UserId,
}

/// Adds members to a group. Who is in it already stays as they are.
#[utoipa::path(
    post,
    path = "/v1/rooms/{id}/members",
    operation_id = "addMembers",
    tag = "rooms",
    params(RoomPath),
    request_body = PeopleBody,
    responses(
        (status = 201, description = "Added: the room as it is now", body = RoomShape),
        (status = 200, description = "All were in it before", body = RoomShape)
    )
)]
pub async fn add(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<RoomPath>,
    Json(body): Json<PeopleBody>,
) -> Result<(StatusCode, Answer<RoomShape>), Problem> {
    let users = body.people();
    let before = view(&api, caller, path.id).await?.members.len();
    api.operations().add_members(caller.user(), path.id, &users).await?;
    let room = view(&api, caller, path.id).await?;
    let status = if room.members.len() > before { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Answer(room)))
}

/// Removes members, or leaves.
#[utoipa::path(
    delete,
    path = "/v1/rooms/{id}/members",
    operation_id = "removeMember",
    tag = "rooms",
    params(RoomPath, RemoveQuery),
    request_body = Option<PeopleBody>,
    responses((status = 204, description = "Not a member any more"))
)]
pub async fn remove(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<RoomPath>,
    Query(query): Query<RemoveQuery>,
    OptionalJson(body): OptionalJson<PeopleBody>,
) -> Result<StatusCode, Problem> {
    let mut users = body.unwrap_or_default().people();
    users.extend(query.user_id.map(Principal::User));
    if users.is_empty() {
        return Err(Problem::field("user_id", "is missing, in the query or the body"));
    }
    // One by one: each is safe to repeat, so a call that broke off half way is too.
    for user in users {
        api.operations().remove_member(caller.user(), path.id, user).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a member, or leaves.
#[utoipa::path(
    delete,
    path = "/v1/rooms/{id}/members/{user_id}",
    operation_id = "removeMemberByPath",
    tag = "rooms",
    params(MemberPath),
    responses((status = 204, description = "Not a member any more"))
)]
pub async fn remove_one(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<MemberPath>,
) -> Result<StatusCode, Problem> {
    api.operations().remove_member(caller.user(), path.id, path.user_id.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}
