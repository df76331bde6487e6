//! Calls of tools in somebody's browser.
//!
//! A call is pending until the first answer of its person, its deadline, or the end of its run. Whoever waits registers for
//! the wake-up first, then reads the row.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use domain::{AgentId, Event, Invalid, RoomId, RunId, SlotSessionId, ToolCallId, UserId};
use jiff::Timestamp;

use crate::error::StoreError;

pub(crate) mod judge;

/// A call to be made.
#[derive(Debug, Clone)]
pub struct NewToolCall {
    /// The id chosen by the caller.
    pub id: ToolCallId,
    /// For which run; must be worked on.
    pub run: RunId,
    /// Whose run.
    pub agent: AgentId,
    /// The consumer that works on it. None for a call by REST, which speaks for the agent.
    pub session: Option<SlotSessionId>,
    /// The execution that calls; a later one refuses it. None for a call by REST that does not say.
    pub epoch: Option<u64>,
    /// Who is asked; must be in the run's room.
    pub user: UserId,
    /// Which tool.
    pub tool: String,
    /// JSON text.
    pub args: Arc<str>,
    /// How long it may take.
    pub timeout: Duration,
    /// Makes the call safe to repeat, within its execution: a later one begins anew.
    pub nonce: Option<String>,
}

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolStatus {
    /// Nobody has answered.
    Pending,
    /// Answered.
    Answered,
    /// Its time is over.
    Expired,
    /// Its run is over.
    Cancelled,
}

impl ToolStatus {
    /// The name as it is stored and sent.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Answered => "answered",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

impl FromStr for ToolStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "pending" => Ok(Self::Pending),
            "answered" => Ok(Self::Answered),
            "expired" => Ok(Self::Expired),
            "cancelled" => Ok(Self::Cancelled),
            _ => Err(Invalid::new("status", text, "pending, answered, expired or cancelled")),
        }
    }
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Which.
    pub id: ToolCallId,
    /// Of which run.
    pub run: RunId,
    /// Where.
    pub room: RoomId,
    /// Who calls.
    pub agent: AgentId,
    /// Who is asked.
    pub user: UserId,
    /// Which tool.
    pub tool: String,
    /// JSON text.
    pub args: Arc<str>,
    /// How it stands.
    pub status: ToolStatus,
    /// Until when an answer counts.
    pub deadline: Timestamp,
    /// The answer as JSON text, when it went well.
    pub result: Option<Arc<str>>,
    /// Why it did not go well, in words of the browser.
    pub error: Option<String>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Resolution {
    /// To which call.
    pub call: ToolCallId,
    /// Who answers.
    pub user: UserId,
    /// JSON text, or what went wrong.
    pub outcome: Result<Arc<str>, String>,
}

/// Tool calls.
#[async_trait]
pub trait Tools {
    /// Makes a call: `tool.called` in the person's stream; the run waits. A repeated nonce gives the call of then, and nothing is written.
    ///
    /// # Errors
    ///
    /// `NotFound` for a run that is not the agent's, or a person who is not in its room; `Conflict` when the run is not worked on, by this session and
    /// execution where they are given, or the id is in use elsewhere.
    async fn call_tool(&self, call: &NewToolCall) -> Result<(ToolCall, Vec<Event>), StoreError>;

    /// One call.
    async fn tool_call(&self, call: ToolCallId) -> Result<Option<ToolCall>, StoreError>;

    /// Answers a call by compare-and-swap: the first answer counts. `tool.resolved` goes to the agent's and the person's stream; the run
    /// goes on when nothing else is pending.
    ///
    /// # Errors
    ///
    /// `NotFound`; `Forbidden` for anybody but the person who is asked, before anything else is looked at; `Conflict` when it is no longer pending or past its
    /// deadline, or the person is no longer in the room.
    async fn resolve_tool(&self, resolution: &Resolution) -> Result<(ToolCall, Vec<Event>), StoreError>;

    /// The calls that a person has not answered and still may: of rooms that they are in.
    async fn pending_tools(&self, user: UserId) -> Result<Vec<ToolCall>, StoreError>;

    /// Ends calls that nobody can answer any more, at most `limit`: expired when their deadline is over, cancelled when the person has
    /// left the room. Answers them with what was written.
    async fn expire_tools(&self, limit: u32) -> Result<(Vec<ToolCall>, Vec<Event>), StoreError>;
}
