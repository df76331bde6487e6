//! What people ask for on a live connection.

use std::sync::Arc;

use domain::{AgentId, ErrorCode, RoomId, RunId, ToolCallId, UserId};
use operations::Error;
use operations::commands::Autocomplete;
use protocol::frame::{self, Choices, RawJson};
use protocol::{ClientFrame, CloseCode, ServerFrame};
use realtime::{Connection, Encoded, Focus, Watched};
use tracing::Instrument as _;

use crate::connection::End;
use crate::connection::answer::{self, About};
use crate::gateway::Gateway;

pub(super) async fn handle(
    gateway: &Arc<Gateway>,
    connection: &Arc<Connection>,
    user: UserId,
    frame: ClientFrame,
) -> Result<Option<ServerFrame>, End> {
    let operations = &gateway.parts.operations;
    let (about, outcome) = match frame {
        ClientFrame::Identify(_) | ClientFrame::Resume(_) => {
            return Err(End::Close(CloseCode::AlreadyIdentified));
        }
        // The reader takes it, for people and agents alike.
        ClientFrame::Refresh(_) => return Ok(None),
        ClientFrame::Ping => return Ok(Some(ServerFrame::Pong)),
        ClientFrame::Send(send) => return Ok(Some(answer::send(operations, connection, send).await)),
        ClientFrame::Watch(watch) => return Ok(self::watch(gateway, connection, watch).await),
        ClientFrame::Autocomplete(asked) => return Ok(autocomplete(gateway, connection, user, asked)),
        ClientFrame::Unwatch(unwatch) => {
            gateway.parts.catchup.unwatch(connection, RunId(unwatch.run_id));
            return Ok(None);
        }
        ClientFrame::Typing(typing) => {
            (About::default(), operations.typing(user, RoomId(typing.room_id)).await)
        }
        ClientFrame::Focus(focus) => (About::default(), self::focus(connection, &focus)),
        ClientFrame::Read(read) => {
            let read = operations.set_read(user, RoomId(read.room_id), read.seq).await;
            (About::default(), read.map(drop))
        }
        ClientFrame::ToolResult(result) => {
            let call = ToolCallId(result.call_id);
            let resolved = operations.resolve_tool(user, call, result.outcome).await;
            (About::call(call.0), resolved.map(drop))
        }
        frame @ (ClientFrame::Ack(_)
        | ClientFrame::RunStart(_)
        | ClientFrame::RunPatch(_)
        | ClientFrame::RunFinish(_)
        | ClientFrame::ToolCall(_)
        | ClientFrame::AutocompleteReply(_)) => {
            let detail = format!("{} is for consumers of agents", frame.op());
            return Ok(Some(About::of(&frame).forbidden(&detail)));
        }
    };
    Ok(outcome.err().map(|error| about.refusal(&error)))
}

/// The document comes in order with what follows on it; only that of a run that is over is the answer.
async fn watch(gateway: &Gateway, connection: &Connection, watch: frame::Watch) -> Option<ServerFrame> {
    let run = RunId(watch.run_id);
    match gateway.parts.catchup.watch(connection, run).await {
        Ok(Watched::Follows) => None,
        Ok(Watched::Over(whole)) => match whole.body() {
            realtime::Body::Frame(frame) => Some(frame.clone()),
            realtime::Body::Event(..) | realtime::Body::Pong(_) => None,
        },
        Ok(Watched::Unknown) => Some(answer::no_run(run)),
        Err(error) => Some(About::run(run.0).refusal(&error.into())),
    }
}

/// Asks an agent in a task of its own: the person types on meanwhile.
fn autocomplete(
    gateway: &Arc<Gateway>,
    connection: &Arc<Connection>,
    user: UserId,
    asked: frame::Autocomplete,
) -> Option<ServerFrame> {
    let about = About::request(asked.request_id);
    let Ok(place) = Arc::clone(&gateway.questions).try_acquire_owned() else {
        let detail = "too many completions are asked for at this node; try again";
        return Some(about.error(ErrorCode::RateLimited, detail.into()));
    };
    let (operations, connection) = (gateway.parts.operations.clone(), Arc::clone(connection));
    let asking = async move {
        let question = Autocomplete {
            user,
            agent: AgentId(asked.agent_id),
            room: RoomId(asked.room_id),
            command: asked.command,
            input: asked.input,
        };
        let answer = match operations.autocomplete(question).await {
            Ok(choices) => choices_frame(asked.request_id, choices),
            Err(error) => about.refusal(&error),
        };
        connection.outbox.reply(&Encoded::frame(answer)).await;
        drop(place);
    };
    gateway.parts.tasks.transient("autocomplete", asking.in_current_span());
    None
}

fn choices_frame(request_id: uuid::Uuid, choices: Option<RawJson>) -> ServerFrame {
    let timed_out = choices.is_none();
    match choices.map_or_else(|| RawJson::new("[]"), Ok) {
        Ok(choices) => ServerFrame::Choices(Choices { request_id, choices, timed_out }),
        Err(error) => About::request(request_id).error(ErrorCode::Internal, error.to_string()),
    }
}

fn focus(connection: &Connection, focus: &frame::Focus) -> Result<(), Error> {
    let room = focus.room_id.map(RoomId);
    if room.is_some_and(|room| !connection.follows(room.into())) {
        return Err(store::Refusal::NotFound("room").into());
    }
    connection.set_focus(Focus { room, idle: focus.idle });
    Ok(())
}
