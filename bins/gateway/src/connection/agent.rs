//! What consumers of agents ask for on a live connection.
//!
//! Every write names the session that this connection holds; what another holds by now is refused by the row.

use std::sync::Arc;

use domain::{AgentId, Invalid, RequestId, RunId, SlotSessionId, UserId};
use operations::{CallTool, EndRun, Error, Operations};
use protocol::frame::{self, Acked, ToolCalled};
use protocol::{ClientFrame, CloseCode, ServerFrame};
use realtime::Connection;

use crate::connection::End;
use crate::connection::answer::{self, About};
use crate::gateway::Gateway;

pub(super) async fn handle(
    gateway: &Arc<Gateway>,
    connection: &Arc<Connection>,
    agent: AgentId,
    frame: ClientFrame,
) -> Result<Option<ServerFrame>, End> {
    let operations = &gateway.parts.operations;
    // A connection of an agent is live with a place only.
    let Some(session) = connection.hold.session() else { return Err(End::Close(CloseCode::Internal)) };
    let (about, answer) = match frame {
        ClientFrame::Identify(_) | ClientFrame::Resume(_) => {
            return Err(End::Close(CloseCode::AlreadyIdentified));
        }
        // The reader takes it, for people and agents alike.
        ClientFrame::Refresh(_) => return Ok(None),
        ClientFrame::Ping => return Ok(Some(ServerFrame::Pong)),
        ClientFrame::Send(send) => return Ok(Some(answer::send(operations, connection, send).await)),
        ClientFrame::Ack(ack) => {
            let acked = operations.ack(session, ack.seq).await;
            (About::default(), acked.map(|seq| Some(ServerFrame::Acked(Acked { seq }))))
        }
        ClientFrame::RunStart(start) => {
            let started = operations.start_run(session, RunId(start.run_id)).await;
            (About::run(start.run_id), started.map(|built| Some(answer::run(&built))))
        }
        ClientFrame::RunPatch(patch) => {
            let run = RunId(patch.run_id);
            let patched = operations.patch_run(session, run, patch.epoch, &patch.ops).await;
            (About::run(patch.run_id), patched.map(|()| None))
        }
        ClientFrame::RunFinish(finish) => {
            let about = About::run(finish.run_id);
            (about, self::finish(operations, agent, session, finish).await.map(Some))
        }
        ClientFrame::ToolCall(call) => {
            let about = About { nonce: call.nonce.clone(), ..About::run(call.run_id) };
            (about, call_tool(operations, agent, session, call).await.map(Some))
        }
        ClientFrame::AutocompleteReply(reply) => {
            let request = RequestId(reply.request_id);
            let answered = operations.answer(agent, request, &reply.choices).await;
            (About::request(reply.request_id), answered.map(|()| None))
        }
        frame @ (ClientFrame::Typing(_)
        | ClientFrame::Focus(_)
        | ClientFrame::Read(_)
        | ClientFrame::Watch(_)
        | ClientFrame::Unwatch(_)
        | ClientFrame::ToolResult(_)
        | ClientFrame::Autocomplete(_)) => {
            let detail = format!("{} is for people", frame.op());
            return Ok(Some(About::of(&frame).forbidden(&detail)));
        }
    };
    Ok(answer.unwrap_or_else(|error| Some(about.refusal(&error))))
}

async fn finish(
    operations: &Operations,
    agent: AgentId,
    session: SlotSessionId,
    finish: frame::RunFinish,
) -> Result<ServerFrame, Error> {
    let end = EndRun {
        run: RunId(finish.run_id),
        epoch: finish.epoch,
        status: finish.status.parse()?,
        error: finish.error,
        ops: finish.ops,
    };
    let ended = operations.finish_run(agent, session, end).await?;
    Ok(answer::run(&ended))
}

async fn call_tool(
    operations: &Operations,
    agent: AgentId,
    session: SlotSessionId,
    call: frame::CallTool,
) -> Result<ServerFrame, Error> {
    let timeout = call.timeout.map(|text| {
        let duration = domain::duration::parse(&text.0);
        duration.map_err(|_| Invalid::new("timeout", &text.0, domain::duration::ALLOWED))
    });
    let timeout = timeout.transpose()?;
    let called = operations
        .call_tool(CallTool {
            run: RunId(call.run_id),
            agent,
            holder: Some((session, call.epoch)),
            user: UserId(call.user_id),
            tool: call.tool,
            args: call.args,
            timeout,
            nonce: call.nonce.clone(),
        })
        .await?;
    Ok(ServerFrame::ToolCalled(ToolCalled { call_id: called.call.id.0, nonce: call.nonce }))
}
