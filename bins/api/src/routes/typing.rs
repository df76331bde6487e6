//! `/v1/rooms/{id}/typing`: for clients without a socket.

use axum::extract::State;
use axum::http::StatusCode;

use crate::extract::{Path, Person};
use crate::problem::Problem;
use crate::routes::rooms::RoomPath;
use crate::state::Api;

/// Tells the others of a room that the caller, a person, types. More often than `sync.typing_min_interval` is ignored.
#[utoipa::path(
    post,
    path = "/v1/rooms/{id}/typing",
    operation_id = "typing",
    tag = "rooms",
    params(RoomPath),
    responses((status = 204, description = "Told, or ignored"))
)]
pub async fn typing(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<RoomPath>,
) -> Result<StatusCode, Problem> {
    api.operations().typing(person.user(), path.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
