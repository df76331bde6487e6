//! Runs as their holder has them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use domain::document::{Op, Pointer};
use domain::run::FinishStatus;
use domain::{Document, Invalid, RoomId, RunId, RunStatus, UserId};
use protocol::frame::RawJson;
use serde_json::Value;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::held::{Ending, Held};
use super::{Ask, Desk};

/// Why something can't be done with a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// It came to its end: by this handle, or by Switchboard, as when it took too long.
    #[error("the run is {}", .0.as_str())]
    Over(RunStatus),
    /// This consumer no longer holds it, or the consumer stopped. If the run is not over it is requested again.
    #[error("the run is lost: {0}")]
    Lost(String),
    /// The server refuses it.
    #[error("{code}: {detail}")]
    Refused {
        /// The stable name.
        code: String,
        /// For people.
        detail: String,
    },
    /// The change can't be made. The document is as it was.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Why a tool gave no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// The person's device says why.
    #[error("{0}")]
    Failed(String),
    /// Nobody answered in time.
    #[error("nobody answered in time")]
    Expired,
    /// The run is to be stopped.
    #[error("the call was cancelled")]
    Cancelled,
    /// The call can't be made, or its run is over or lost.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Something to be done by a person's device.
#[derive(Debug, Clone, PartialEq)]
pub struct NewToolCall {
    /// The name of the tool.
    pub tool: String,
    /// What it is given.
    pub args: Value,
    /// Whose devices are asked: a member of the run's room.
    pub user: UserId,
    /// How long the person has; as long as the server says otherwise.
    pub timeout: Option<Duration>,
}

/// A run that this consumer works on, with a copy of its document that is the one that counts: changes are made here at once
/// and sent by and by. After a lost connection the server is sent what it lacks.
///
/// A handle that is dropped before the run is finished ends it as failed.
pub struct RunHandle {
    pub(super) run: Arc<Held>,
    pub(super) desk: Arc<Desk>,
}

impl fmt::Debug for RunHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunHandle").field("id", &self.run.id).field("epoch", &self.run.epoch).finish()
    }
}

impl RunHandle {
    /// Which run.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.run.id
    }

    /// Where.
    #[must_use]
    pub fn room_id(&self) -> RoomId {
        self.run.room
    }

    /// The execution that this handle writes under.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.run.epoch
    }

    /// The document as it is by now.
    #[must_use]
    pub fn document(&self) -> Document {
        self.run.state().doc.clone()
    }

    /// Cancelled when the work is to stop: somebody asked for that, or the run is over or lost. Finish it then;
    /// it is `cancelled` whatever is said.
    #[must_use]
    pub fn stop(&self) -> &CancellationToken {
        &self.run.stop
    }

    /// Puts an item at the end: an object with `id` and `type`, and `text` for `text` and `reasoning`.
    ///
    /// # Errors
    ///
    /// Not an item, or the document would be too large; or the run is over, lost, or takes no more.
    pub fn push_item(&self, item: Value) -> Result<(), RunError> {
        self.patch(&[Op::Add { path: pointer("/items/-")?, value: item }])
    }

    /// Puts text behind the `text` of an item.
    ///
    /// # Errors
    ///
    /// No such item, or the document would be too large; or the run is over, lost, or takes no more.
    pub fn append_text(&self, item_id: &str, text: &str) -> Result<(), RunError> {
        self.append(item_id, "text", text)
    }

    /// Puts text behind a member of an item that is text.
    ///
    /// # Errors
    ///
    /// As [`append_text`](Self::append_text).
    pub fn append(&self, item_id: &str, member: &str, text: &str) -> Result<(), RunError> {
        let path = self.member(item_id, member)?;
        self.patch(&[Op::Append { path, value: text.to_owned() }])
    }

    /// Puts a member of an item in the place of what is there, if anything is.
    ///
    /// # Errors
    ///
    /// No such item, or a value that may not be there; or the run is over, lost, or takes no more.
    pub fn set(&self, item_id: &str, member: &str, value: Value) -> Result<(), RunError> {
        let path = self.member(item_id, member)?;
        self.patch(&[Op::Add { path, value }])
    }

    fn member(&self, item_id: &str, member: &str) -> Result<Pointer, RunError> {
        let state = self.run.state();
        let items = state.doc.value()["items"].as_array();
        let index = items.and_then(|items| items.iter().position(|item| item["id"] == item_id));
        let index = index.ok_or_else(|| Invalid::new("item_id", item_id, "the id of an item"))?;
        let member = member.replace('~', "~0").replace('/', "~1");
        Ok(pointer(&format!("/items/{index}/{member}"))?)
    }

    /// Changes the document: all ops, or none.
    ///
    /// # Errors
    ///
    /// Ops that can't be done; or the run is over, lost, or takes no more.
    pub fn patch(&self, ops: &[Op]) -> Result<(), RunError> {
        self.run.change(ops)?;
        self.desk.changed.notify_one();
        Ok(())
    }

    /// Ends the run with what was changed until now. Gives what it came to: `cancelled` if somebody asked for that.
    ///
    /// # Errors
    ///
    /// It was over or lost, or the server refuses the last change. Called again then, it ends without it.
    pub async fn finish(&self, status: FinishStatus, error: Option<&str>) -> Result<RunStatus, RunError> {
        let (answer, answered) = oneshot::channel();
        self.run.end(Ending::new(status, error, Some(answer)))?;
        self.desk.changed.notify_one();
        answered.await.unwrap_or_else(|_| Err(RunError::Lost("it was finished otherwise".to_owned())))
    }

    /// Asks a person's devices to do something, and waits for what comes of it.
    ///
    /// # Errors
    ///
    /// The tool gave no result; why.
    pub async fn call_tool(&self, call: NewToolCall) -> Result<RawJson, ToolError> {
        let (answer, answered) = oneshot::channel();
        let gone = || RunError::Lost("the consumer stopped".to_owned());
        self.desk.asks.send(Ask::CallTool(Arc::clone(&self.run), call, answer)).await.map_err(|_| gone())?;
        answered.await.unwrap_or_else(|_| Err(gone().into()))
    }
}

impl Drop for RunHandle {
    fn drop(&mut self) {
        // Refused when it is over, or is being finished.
        let ending = Ending::new(FinishStatus::Failed, Some("the agent left it unfinished"), None);
        if self.run.end(ending).is_ok() {
            self.desk.changed.notify_one();
        }
    }
}

fn pointer(path: &str) -> Result<Pointer, Invalid> {
    Pointer::parse(path).map_err(|allowed| Invalid::new("path", path, allowed))
}
