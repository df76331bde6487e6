//! Bodies of requests and answers (contract, section 9). Fields that are not known are skipped.

use std::fmt;
use std::time::Duration;

use domain::{
    AgentId, AuthSessionId, DeviceId, DeviceKind, MemberRole, RoomId, RoomKind, RunId, RunStatus, ToolCallId,
    User, UserId,
};
use jiff::Timestamp;
use protocol::frame::{Event, Sender};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a sign-in answers.
#[derive(Clone, Deserialize)]
pub struct SignedIn {
    /// Who signed in. Refreshing may leave it out.
    #[serde(default)]
    pub user: Option<User>,
    /// The device that was named with the sign-in.
    #[serde(default)]
    pub device_id: Option<DeviceId>,
    /// The sign-in itself.
    #[serde(default)]
    pub session_id: Option<AuthSessionId>,
    /// Proves who one is, for a short time.
    pub access_token: String,
    /// Buys the next access token, once.
    pub refresh_token: String,
    /// How long the access token is good for.
    #[serde(with = "domain::duration")]
    pub expires_in: Duration,
}

impl fmt::Debug for SignedIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedIn").field("user", &self.user).finish_non_exhaustive()
    }
}

/// A device to be added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewDevice {
    /// What it is.
    pub kind: DeviceKind,
    /// What its owner calls it.
    pub name: String,
}

/// A ticket for one connection.
#[derive(Clone, Deserialize)]
pub struct Ticket {
    /// 128 bits in hex, good once.
    pub ticket: String,
    /// Until when.
    pub expires_at: Timestamp,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("expires_at", &self.expires_at).finish_non_exhaustive()
    }
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Page<T> {
    /// The entries.
    pub items: Vec<T>,
    /// Where the next part begins; none after the last.
    pub next: Option<String>,
}

/// A part of a room's events.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct EventPage {
    /// The events, by seq.
    pub items: Vec<Event>,
    /// Where the next part begins; none after the last.
    pub next: Option<String>,
    /// Events up to this number are no longer kept.
    pub floor: u64,
    /// The number of the newest event.
    pub head: u64,
}

/// Who a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum MemberId {
    /// A person.
    #[serde(rename = "user_id")]
    User(UserId),
    /// An agent.
    #[serde(rename = "agent_id")]
    Agent(AgentId),
}

/// A member of a room.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Member {
    /// Who.
    #[serde(flatten)]
    pub id: MemberId,
    /// What they may do.
    pub role: MemberRole,
}

/// A room as one of its members sees it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Room {
    /// Which.
    pub id: RoomId,
    /// What it is.
    pub kind: RoomKind,
    /// Its name; direct messages have none.
    #[serde(default)]
    pub name: Option<String>,
    /// Who is in it.
    #[serde(default)]
    pub members: Vec<Member>,
    /// The number of its newest event.
    pub head: u64,
    /// Events up to this number are no longer kept.
    pub floor: u64,
    /// What the asking member has read.
    pub last_read: u64,
    /// Whether the asking member wants no notifications of it.
    pub muted: bool,
}

/// A message that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Its event.
    pub event: Event,
    /// False when the nonce was known and nothing new was written.
    pub is_new: bool,
}

/// An agent as everybody sees it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Agent {
    /// Which.
    pub id: AgentId,
    /// The unique name that mentions use.
    pub handle: String,
    /// The name that people read.
    pub display_name: String,
    /// Who made it.
    pub owner_id: UserId,
    /// Runs it is given at one time.
    pub max_runs: u32,
    /// It was revoked: it signs in no more.
    pub revoked: bool,
}

/// An agent that was made.
#[derive(Clone, Deserialize)]
pub struct MadeAgent {
    /// The agent.
    #[serde(flatten)]
    pub agent: Agent,
    /// Signs it in; told once.
    #[serde(default)]
    pub token: Option<String>,
}

impl fmt::Debug for MadeAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MadeAgent").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// A token of an agent.
#[derive(Clone, Deserialize)]
pub struct AgentToken {
    /// Signs it in; told once.
    pub token: String,
}

impl fmt::Debug for AgentToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentToken").finish_non_exhaustive()
    }
}

/// A run with its document.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Run {
    /// Which.
    pub id: RunId,
    /// Where.
    pub room_id: RoomId,
    /// Who works.
    pub agent_id: AgentId,
    /// Who asked.
    #[serde(default)]
    pub requested_by: Option<Sender>,
    /// What was asked.
    #[serde(default)]
    pub input: Value,
    /// How it stands.
    pub status: RunStatus,
    /// What went wrong, for people.
    #[serde(default)]
    pub error: Option<String>,
    /// The number of the execution.
    pub epoch: u64,
    /// The version of the document.
    pub version: u64,
    /// The document.
    pub doc: Value,
}

/// How a tool call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// A tool call in a person's browser.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ToolCall {
    /// Which.
    pub id: ToolCallId,
    /// Of which run.
    pub run_id: RunId,
    /// Where.
    pub room_id: RoomId,
    /// Who is asked.
    pub user_id: UserId,
    /// Which tool.
    pub tool: String,
    /// What it is given.
    pub args: Value,
    /// How it stands.
    pub status: ToolStatus,
    /// Until when an answer counts.
    pub deadline: Timestamp,
    /// The answer, when it went well.
    #[serde(default)]
    pub result: Value,
    /// Why it did not go well.
    #[serde(default)]
    pub error: Option<String>,
}

/// One way in which a command could go on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Choice {
    /// What would be put in.
    pub value: String,
    /// What people read.
    #[serde(default)]
    pub label: Option<String>,
}

/// The answer with choices.
#[derive(Deserialize)]
pub(super) struct Choices {
    pub(super) choices: Vec<Choice>,
}

/// The answer to a message.
#[derive(Deserialize)]
pub(super) struct MessageWritten {
    pub(super) event: Event,
}

/// The answer of calls that write an event unless nothing changes.
#[derive(Deserialize)]
pub(super) struct Written {
    #[serde(default)]
    pub(super) event: Option<Event>,
}
