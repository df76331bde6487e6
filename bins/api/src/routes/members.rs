//! `/v1/rooms/{id}/members`.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use domain::{AgentId, Principal, RoomId, UserId};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::extract::{Json, OptionalJson, Path, Person, Query};
use crate::problem::Problem;
use crate::routes::rooms::{RoomPath, view};
use crate::shapes::RoomShape;
use crate::state::Api;

/// People and agents: one by `user_id` or `agent_id`, or several by `members`.
#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MembersBody {
    /// One person.
    #[schema(value_type = Option<Uuid>)]
    user_id: Option<UserId>,
    /// One agent.
    #[schema(value_type = Option<Uuid>)]
    agent_id: Option<AgentId>,
    /// Several, whatever they are.
    #[serde(default)]
    members: Vec<Uuid>,
}

impl MembersBody {
    async fn principals(self, api: &Api) -> Result<Vec<Principal>, Problem> {
        let mut members = api.operations().principals(&self.members).await?;
        members.extend(self.user_id.map(Principal::User));
        members.extend(self.agent_id.map(Principal::Agent));
        Ok(members)
    }
}

/// Who is removed, in the query.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RemoveQuery {
    /// Which person; the caller's own id to leave. It may stand in the body instead.
    #[param(value_type = Option<Uuid>)]
    user_id: Option<UserId>,
    /// Which agent.
    #[param(value_type = Option<Uuid>)]
    agent_id: Option<AgentId>,
}

/// Which member.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MemberPath {
    /// Of which room.
    #[param(value_type = Uuid)]
    id: RoomId,
    /// Who, a person or an agent.
    member_id: Uuid,
}

/// Adds members to a group. Who is in it already stays as they are.
#[utoipa::path(
    post,
    path = "/v1/rooms/{id}/members",
    operation_id = "addMembers",
    tag = "rooms",
    params(RoomPath),
    request_body = MembersBody,
    responses(
        (status = 201, description = "Added: the room as it is now", body = RoomShape),
        (status = 200, description = "All were in it before", body = RoomShape)
    )
)]
pub async fn add(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<RoomPath>,
    Json(body): Json<MembersBody>,
) -> Result<(StatusCode, Answer<RoomShape>), Problem> {
    let members = body.principals(&api).await?;
    let before = view(&api, person.user(), path.id).await?.members.len();
    api.operations().add_members(person.user(), path.id, &members).await?;
    let room = view(&api, person.user(), path.id).await?;
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
    request_body = Option<MembersBody>,
    responses((status = 204, description = "Not a member any more"))
)]
pub async fn remove(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<RoomPath>,
    Query(query): Query<RemoveQuery>,
    OptionalJson(body): OptionalJson<MembersBody>,
) -> Result<StatusCode, Problem> {
    let mut members = body.unwrap_or_default().principals(&api).await?;
    members.extend(query.user_id.map(Principal::User));
    members.extend(query.agent_id.map(Principal::Agent));
    if members.is_empty() {
        return Err(Problem::field("user_id", "is missing, in the query or the body"));
    }
    // One by one: each is safe to repeat, so a call that broke off half way is too.
    for member in members {
        api.operations().remove_member(person.user(), path.id, member).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Removes a member, or leaves.
#[utoipa::path(
    delete,
    path = "/v1/rooms/{id}/members/{member_id}",
    operation_id = "removeMemberByPath",
    tag = "rooms",
    params(MemberPath),
    responses((status = 204, description = "Not a member any more"))
)]
pub async fn remove_one(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<MemberPath>,
) -> Result<StatusCode, Problem> {
    for member in api.operations().principals(&[path.member_id]).await? {
        api.operations().remove_member(person.user(), path.id, member).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
