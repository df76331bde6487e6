//! `/v1/agents/{id}/autocomplete`: how a command could go on.

use axum::Json as Answer;
use axum::extract::State;
use domain::{ErrorCode, RoomId};
use operations::commands::Autocomplete;
use protocol::frame::RawJson;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract::{Json, Path, Person};
use crate::problem::Problem;
use crate::routes::agents::AgentPath;
use crate::state::Api;

/// A command as far as it is typed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskBody {
    /// Where it is typed; caller and agent are in this room.
    #[schema(value_type = uuid::Uuid)]
    room_id: RoomId,
    /// The name of the command.
    #[schema(max_length = 200)]
    command: String,
    /// What was typed after it.
    input: String,
}

/// How it could go on.
#[derive(Serialize, ToSchema)]
#[schema(as = Choices)]
pub struct ChoicesShape {
    /// As the agent gave them.
    #[schema(value_type = Vec<ChoiceShape>)]
    choices: RawJson,
}

/// One way to go on.
#[derive(Serialize, ToSchema)]
#[schema(as = Choice)]
pub struct ChoiceShape {
    /// What would be put in.
    value: String,
    /// What people read.
    label: Option<String>,
}

/// Asks an agent how a command could go on. When it does not say so within `commands.autocomplete_timeout`: 504, `timeout`.
#[utoipa::path(
    post,
    path = "/v1/agents/{id}/autocomplete",
    operation_id = "autocomplete",
    tag = "agents",
    params(AgentPath),
    request_body = AskBody,
    responses((status = 200, description = "How it could go on", body = ChoicesShape))
)]
pub async fn ask(
    State(api): State<Api>,
    person: Person,
    Path(path): Path<AgentPath>,
    Json(body): Json<AskBody>,
) -> Result<Answer<ChoicesShape>, Problem> {
    let asked = Autocomplete {
        user: person.user(),
        agent: path.id,
        room: body.room_id,
        command: body.command,
        input: body.input,
    };
    match api.operations().autocomplete(asked).await? {
        Some(choices) => Ok(Answer(ChoicesShape { choices })),
        None => Err(Problem::new(ErrorCode::Timeout, "the agent did not answer in time")),
    }
}
