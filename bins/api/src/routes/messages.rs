//! `/v1/rooms/{id}/messages`.

use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use domain::{EventId, RoomId};
use operations::SendMessage;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::extract::{Caller, IdempotencyKey, Json, Path};
use crate::problem::Problem;
use crate::routes::rooms::RoomPath;
use crate::shapes::EventShape;
use crate::state::Api;

/// A message to be sent.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SendBody {
    /// The text; `@handle` mentions a member.
    #[schema(min_length = 1)]
    body: String,
    /// Makes the send safe to repeat: unique for the caller in this room. `Idempotency-Key` does the same.
    #[schema(min_length = 1, max_length = 64)]
    nonce: Option<String>,
    /// The message it answers.
    #[schema(value_type = Option<uuid::Uuid>)]
    reply_to: Option<EventId>,
}

/// A new text.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EditBody {
    /// The text.
    #[schema(min_length = 1)]
    body: String,
}

/// An event that was written.
#[derive(Serialize, ToSchema)]
#[schema(as = Written)]
pub struct WrittenShape {
    /// The event.
    event: EventShape,
}

/// Which message.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct MessagePath {
    /// Of which room.
    #[param(value_type = uuid::Uuid)]
    id: RoomId,
    /// The id of its `message.created` event.
    #[param(value_type = uuid::Uuid)]
    event_id: EventId,
}

/// Sends a message. The same nonce gives the same event.
#[utoipa::path(
    post,
    path = "/v1/rooms/{id}/messages",
    operation_id = "sendMessage",
    tag = "messages",
    params(
        RoomPath,
        ("Idempotency-Key" = Option<String>, Header, min_length = 1, max_length = 64, pattern = "^[!-~]+$", description = "The nonce, when the body has none")
    ),
    request_body = SendBody,
    responses(
        (status = 201, description = "Sent", body = WrittenShape),
        (status = 200, description = "Sent before, by the same nonce", body = WrittenShape)
    )
)]
pub async fn send(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<RoomPath>,
    IdempotencyKey(key): IdempotencyKey,
    Json(body): Json<SendBody>,
) -> Result<(StatusCode, Answer<WrittenShape>), Problem> {
    let message = SendMessage {
        room: path.id,
        sender: caller.principal(),
        body: body.body,
        nonce: body.nonce.or(key),
        reply_to: body.reply_to,
    };
    let appended = api.operations().send_message(message).await?;
    let status = if appended.fresh { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Answer(WrittenShape { event: appended.event.into() })))
}

/// Gives the caller's own message a new text.
#[utoipa::path(
    patch,
    path = "/v1/rooms/{id}/messages/{event_id}",
    operation_id = "editMessage",
    tag = "messages",
    params(MessagePath),
    request_body = EditBody,
    responses((status = 200, description = "The event of the edit", body = WrittenShape))
)]
pub async fn edit(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<MessagePath>,
    Json(body): Json<EditBody>,
) -> Result<Answer<WrittenShape>, Problem> {
    let event = api.operations().edit_message(caller.principal(), path.id, path.event_id, &body.body).await?;
    Ok(Answer(WrittenShape { event: event.into() }))
}

/// Deletes a message; deleting it again changes nothing.
#[utoipa::path(
    delete,
    path = "/v1/rooms/{id}/messages/{event_id}",
    operation_id = "deleteMessage",
    tag = "messages",
    params(MessagePath),
    responses((status = 204, description = "Deleted"))
)]
pub async fn delete(
    State(api): State<Api>,
    caller: Caller,
    Path(path): Path<MessagePath>,
) -> Result<StatusCode, Problem> {
    api.operations().delete_message(caller.principal(), path.id, path.event_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
