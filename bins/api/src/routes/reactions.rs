//! `/v1/rooms/{id}/messages/{event_id}/reactions/{emoji}`.

use axum::extract::State;
use axum::http::StatusCode;
use domain::{EventId, RoomId};
use serde::Deserialize;
use store::messages::Reaction;
use utoipa::IntoParams;

use crate::extract::{Caller, Path};
use crate::problem::Problem;
use crate::state::Api;

/// Which reaction.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct ReactionPath {
    /// In which room.
    #[param(value_type = uuid::Uuid)]
    id: RoomId,
    /// To which message.
    #[param(value_type = uuid::Uuid)]
    event_id: EventId,
    /// Which: up to 32 bytes.
    #[param(min_length = 1, max_length = 32, pattern = "^[^\\s\\p{Cc}]+$")]
    emoji: String,
}

impl ReactionPath {
    fn of(self, caller: Caller) -> Reaction {
        Reaction { room: self.id, message: self.event_id, actor: caller.principal(), emoji: self.emoji }
    }
}

/// Adds the caller's reaction; the same again changes nothing.
#[utoipa::path(
    put,
    path = "/v1/rooms/{id}/messages/{event_id}/reactions/{emoji}",
    operation_id = "addReaction",
    tag = "messages",
    params(ReactionPath),
    responses((status = 204, description = "It is there"))
)]
pub async fn add(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<ReactionPath>,
) -> Result<StatusCode, Problem> {
    api.operations().add_reaction(&path.of(caller)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Takes the caller's reaction back; one that is not there changes nothing.
#[utoipa::path(
    delete,
    path = "/v1/rooms/{id}/messages/{event_id}/reactions/{emoji}",
    operation_id = "removeReaction",
    tag = "messages",
    params(ReactionPath),
    responses((status = 204, description = "It is not there"))
)]
pub async fn remove(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<ReactionPath>,
) -> Result<StatusCode, Problem> {
    api.operations().remove_reaction(&path.of(caller)).await?;
    Ok(StatusCode::NO_CONTENT)
}
