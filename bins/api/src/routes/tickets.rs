//! `/v1/ws/ticket`: one-use sign-ins for sockets.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::extract::Person;
use crate::problem::Problem;
use crate::shapes::time;
use crate::state::Api;

/// A ticket.
#[derive(Serialize, ToSchema)]
#[schema(as = Ticket)]
pub struct TicketShape {
    /// 32 hex digits, good once, on every node.
    ticket: String,
    /// When it ends.
    #[schema(format = DateTime)]
    expires_at: String,
}

/// Makes a ticket for `/v1/gateway?ticket=`.
#[utoipa::path(
    post,
    path = "/v1/ws/ticket",
    operation_id = "issueTicket",
    tag = "auth",
    responses((status = 201, description = "The ticket", body = TicketShape))
)]
pub async fn issue(
    State(api): State<Api>,
    person: Person,
) -> Result<(StatusCode, Json<TicketShape>), Problem> {
    let issued = api.identity().issue_ticket(person.user(), person.session(), person.expires_at()).await?;
    let ticket = TicketShape { ticket: issued.ticket.into_string(), expires_at: time(issued.expires_at) };
    Ok((StatusCode::CREATED, Json(ticket)))
}
