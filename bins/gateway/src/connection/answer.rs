//! Answers that people and agents are given alike.

use domain::{ErrorCode, ErrorKind, EventId, RoomId, RunId};
use operations::{BuiltRun, Error, Operations, SendMessage};
use protocol::frame::{ErrorFrame, RawJson, Run, RunChange, Sent};
use protocol::{ClientFrame, ServerFrame, Subject};
use realtime::Connection;
use uuid::Uuid;

/// What a frame was about, so that a refusal can name it.
#[derive(Debug, Clone, Default)]
pub(super) struct About {
    pub(super) nonce: Option<String>,
    pub(super) run: Option<Uuid>,
    pub(super) call: Option<Uuid>,
    pub(super) request: Option<Uuid>,
}

impl About {
    pub(super) fn run(run: Uuid) -> Self {
        Self { run: Some(run), ..Self::default() }
    }

    pub(super) fn call(call: Uuid) -> Self {
        Self { call: Some(call), ..Self::default() }
    }

    pub(super) fn request(request: Uuid) -> Self {
        Self { request: Some(request), ..Self::default() }
    }

    /// What a frame is about.
    pub(super) fn of(frame: &ClientFrame) -> Self {
        match frame {
            ClientFrame::Watch(watch) => Self::run(watch.run_id),
            ClientFrame::Unwatch(unwatch) => Self::run(unwatch.run_id),
            ClientFrame::RunStart(start) => Self::run(start.run_id),
            ClientFrame::RunPatch(patch) => Self::run(patch.run_id),
            ClientFrame::RunFinish(finish) => Self::run(finish.run_id),
            ClientFrame::ToolCall(call) => Self { nonce: call.nonce.clone(), ..Self::run(call.run_id) },
            ClientFrame::ToolResult(result) => Self::call(result.call_id),
            ClientFrame::Autocomplete(asked) => Self::request(asked.request_id),
            ClientFrame::AutocompleteReply(reply) => Self::request(reply.request_id),
            _ => Self::default(),
        }
    }

    /// The refusal of the frame.
    pub(super) fn refusal(self, error: &Error) -> ServerFrame {
        if error.kind() == ErrorKind::Internal {
            tracing::Span::current().record("failed", true);
            tracing::error!(%error, "a client's frame failed");
        }
        self.error(error.code(), error.public_message())
    }

    /// The refusal of a frame that this kind of client may not send.
    pub(super) fn forbidden(self, detail: &str) -> ServerFrame {
        self.error(ErrorCode::Forbidden, detail.into())
    }

    pub(super) fn error(self, code: ErrorCode, detail: String) -> ServerFrame {
        ServerFrame::Error(ErrorFrame {
            nonce: self.nonce,
            run_id: self.run,
            call_id: self.call,
            request_id: self.request,
            ..ErrorFrame::new(code.as_str(), detail)
        })
    }
}

impl From<Subject> for About {
    fn from(Subject { nonce, run_id: run, call_id: call, request_id: request }: Subject) -> Self {
        Self { nonce, run, call, request }
    }
}

pub(super) async fn send(
    operations: &Operations,
    connection: &Connection,
    send: protocol::frame::Send,
) -> ServerFrame {
    let nonce = send.nonce.clone();
    let message = SendMessage {
        room: RoomId(send.room_id),
        sender: connection.meta.principal,
        body: send.body,
        nonce: Some(send.nonce),
        reply_to: send.reply_to.map(EventId),
    };
    match operations.send_message(message).await {
        Ok(appended) => ServerFrame::Sent(Sent { nonce, seq: appended.event.seq, id: appended.event.id.0 }),
        Err(error) => About { nonce: Some(nonce), ..About::default() }.refusal(&error),
    }
}

/// The frame of a run with its whole document.
pub(super) fn run(built: &BuiltRun) -> ServerFrame {
    let run = &built.run;
    match RawJson::new(&*built.doc) {
        Ok(doc) => ServerFrame::Run(Run {
            run_id: run.id.0,
            room_id: run.room.0,
            agent_id: run.agent.0,
            epoch: run.epoch,
            version: built.version,
            status: run.status.as_str().into(),
            reason: run.reason.map(|reason| reason.as_str().into()),
            cancel_requested: run.cancel_requested && !run.status.is_final(),
            change: RunChange::Doc(doc),
        }),
        Err(error) => {
            tracing::error!(%error, run = %run.id, "a document that is no JSON");
            About::run(run.id.0).error(ErrorCode::Internal, "a fault of the server".into())
        }
    }
}

/// `watch`: the whole document now, what follows as it comes.
pub(super) fn no_run(run: RunId) -> ServerFrame {
    About::run(run.0).refusal(&store::Refusal::NotFound("run").into())
}
