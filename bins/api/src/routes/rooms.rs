//! `/v1/rooms`: groups and dms, what was read of them, and their settings.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use domain::{Principal, RoomId, RoomKind};
use serde::{Deserialize, Serialize};
use store::rooms::{NewRoom, RoomSettings};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::extract::cursor::{self, MAX_LIMIT, Page};
use crate::extract::{Caller, IdempotencyKey, Json, Path, Person, Query};
use crate::problem::Problem;
use crate::routes::devices::PageQuery;
use crate::shapes::RoomShape;
use crate::state::Api;

/// Which room.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct RoomPath {
    /// Which.
    #[param(value_type = Uuid)]
    pub(super) id: RoomId,
}

/// A room to be created.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRoomBody {
    /// What it is.
    #[schema(value_type = String, pattern = "^(group|dm)$")]
    kind: RoomKind,
    /// The name of a group; a dm has none.
    #[schema(min_length = 1, max_length = 80)]
    name: Option<String>,
    /// The other members, people and agents; for a dm exactly one person.
    #[serde(default)]
    members: Vec<Uuid>,
}

/// What was read.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadBody {
    /// Seq of the newest event that was read.
    seq: u64,
}

/// What stands as read.
#[derive(Serialize, ToSchema)]
#[schema(as = Read)]
pub struct ReadShape {
    /// Of which room.
    room_id: Uuid,
    /// The newest seq that was read, on whatever device.
    seq: u64,
}

/// Settings to be changed; what is left out stays.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsBody {
    /// No hints and pushes of this room for the caller, but for mentions.
    muted: Option<bool>,
    /// A new name, for everyone; owners of groups only.
    #[schema(min_length = 1, max_length = 80)]
    name: Option<String>,
}

/// Creates a group, or the dm of a pair. A dm that is there already, or the same `Idempotency-Key`, gives that room.
#[utoipa::path(
    post,
    path = "/v1/rooms",
    operation_id = "createRoom",
    tag = "rooms",
    params(("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 64, pattern = "^[!-~]+$", description = "Makes the call safe to repeat")),
    request_body = NewRoomBody,
    responses(
        (status = 201, description = "Created", body = RoomShape),
        (status = 200, description = "It was there before", body = RoomShape)
    )
)]
pub async fn create(
    State(api): State<Api>,
    person: Person,
    IdempotencyKey(key): IdempotencyKey,
    Json(body): Json<NewRoomBody>,
) -> Result<(StatusCode, Answer<RoomShape>), Problem> {
    let members = api.operations().principals(&body.members).await?;
    let room =
        NewRoom { id: RoomId::new(), kind: body.kind, name: body.name, creator: person.user(), members, key };
    let created = api.operations().create_room(room).await?;
    let status = if created.created { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Answer(view(&api, person.user(), created.room).await?)))
}

/// The caller's rooms.
#[utoipa::path(
    get,
    path = "/v1/rooms",
    operation_id = "listRooms",
    tag = "rooms",
    params(PageQuery),
    responses((status = 200, description = "A page of rooms", body = Page<RoomShape>))
)]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> Result<Answer<Page<RoomShape>>, Problem> {
    let limit = cursor::limit(query.limit, MAX_LIMIT)?;
    let after = cursor::decode_id(query.cursor.as_deref())?;
    let rooms = api.store().rooms(caller.principal(), after, limit + 1).await?;
    Ok(Answer(Page::of(rooms, limit, |room| room.id.0, RoomShape::from)))
}

/// A room.
#[utoipa::path(
    get,
    path = "/v1/rooms/{id}",
    operation_id = "getRoom",
    tag = "rooms",
    params(RoomPath),
    responses((status = 200, description = "The room", body = RoomShape))
)]
pub async fn get(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<RoomPath>,
) -> Result<Answer<RoomShape>, Problem> {
    Ok(Answer(view(&api, caller.principal(), path.id).await?))
}

/// Changes the settings of a room.
#[utoipa::path(
    put,
    path = "/v1/rooms/{id}/settings",
    operation_id = "setRoomSettings",
    tag = "rooms",
    params(RoomPath),
    request_body = SettingsBody,
    responses((status = 200, description = "The room as it is now", body = RoomShape))
)]
pub async fn settings(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<RoomPath>,
    Json(body): Json<SettingsBody>,
) -> Result<Answer<RoomShape>, Problem> {
    let settings = RoomSettings { muted: body.muted, name: body.name };
    api.operations().set_room_settings(person.user(), path.id, &settings).await?;
    Ok(Answer(view(&api, person.user(), path.id).await?))
}

/// Moves what the caller has read forward, never back.
#[utoipa::path(
    put,
    path = "/v1/rooms/{id}/read",
    operation_id = "setRead",
    tag = "rooms",
    params(RoomPath),
    request_body = ReadBody,
    responses((status = 200, description = "What stands as read", body = ReadShape))
)]
pub async fn read(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<RoomPath>,
    Json(body): Json<ReadBody>,
) -> Result<Answer<ReadShape>, Problem> {
    let seq = api.operations().set_read(person.user(), path.id, body.seq).await?;
    Ok(Answer(ReadShape { room_id: path.id.0, seq }))
}

/// A room as one of its members sees it.
pub(super) async fn view(
    api: &Api,
    reader: impl Into<Principal>,
    room: RoomId,
) -> Result<RoomShape, Problem> {
    let room = api.store().room(reader.into(), room).await?;
    room.map(RoomShape::from).ok_or_else(|| Problem::not_found("room"))
}
