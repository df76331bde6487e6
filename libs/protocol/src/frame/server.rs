//! Frames from the server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::{
    Account, AgentSelf, AutocompleteRequest, Choices, Presence, RawJson, RefreshAsked, Refreshed, Run,
    RunChange, ToolCall, ToolCalled, User,
};

/// A frame from the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum ServerFrame {
    /// The first frame of every connection.
    Hello(Hello),
    /// The answer to `identify` and `resume`.
    Ready(Box<Ready>),
    /// An event of a stream; encode events in bulk with [`crate::EventParts`].
    Event(Event),
    /// Everything up to `ready` has been delivered.
    Live,
    /// The cursor of a stream can't be served.
    Gap(Gap),
    /// Somebody types.
    Typing(UserTyping),
    /// Somebody came, went or fell idle.
    Presence(Presence),
    /// How a run stands, and what changed of its document.
    Run(Run),
    /// A notification that should be shown now.
    Hint(Hint),
    /// An agent asks the person's devices for something.
    ToolCall(ToolCall),
    /// The answer to an agent's `tool_call`.
    ToolCalled(ToolCalled),
    /// Somebody asks the agent how a command could go on.
    Autocomplete(AutocompleteRequest),
    /// The answer to a person's `autocomplete`; its `op` is `autocomplete` too.
    #[serde(rename = "autocomplete")]
    Choices(Choices),
    /// The answer to `send`.
    Sent(Sent),
    /// The answer to `ack`.
    Acked(Acked),
    /// The answer to `ping`.
    Pong,
    /// The access token is past its time; a newer one is wanted.
    Refresh(RefreshAsked),
    /// The answer to `refresh`.
    Refreshed(Refreshed),
    /// A frame of the client was refused; the connection stays open.
    Error(ErrorFrame),
    /// This node is going.
    Drain(Drain),
}

impl ServerFrame {
    /// The value of `op`.
    #[must_use]
    pub const fn op(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Ready(_) => "ready",
            Self::Event(_) => "event",
            Self::Live => "live",
            Self::Gap(_) => "gap",
            Self::Typing(_) => "typing",
            Self::Presence(_) => "presence",
            Self::Run(_) => "run",
            Self::Hint(_) => "hint",
            Self::ToolCall(_) => "tool_call",
            Self::ToolCalled(_) => "tool_called",
            Self::Autocomplete(_) | Self::Choices(_) => "autocomplete",
            Self::Sent(_) => "sent",
            Self::Acked(_) => "acked",
            Self::Pong => "pong",
            Self::Refresh(_) => "refresh",
            Self::Refreshed(_) => "refreshed",
            Self::Error(_) => "error",
            Self::Drain(_) => "drain",
        }
    }

    /// The free JSON in it, which is what makes a frame long; no frame has two.
    #[must_use]
    pub const fn json(&self) -> Option<&RawJson> {
        match self {
            Self::Event(event) => Some(&event.data),
            Self::Run(Run { change: RunChange::Doc(json) | RunChange::Patch { ops: json, .. }, .. }) => {
                Some(json)
            }
            Self::ToolCall(call) => Some(&call.args),
            Self::Choices(choices) => Some(&choices.choices),
            Self::Hello(_)
            | Self::Ready(_)
            | Self::Live
            | Self::Gap(_)
            | Self::Typing(_)
            | Self::Presence(_)
            | Self::Hint(_)
            | Self::ToolCalled(_)
            | Self::Autocomplete(_)
            | Self::Sent(_)
            | Self::Acked(_)
            | Self::Pong
            | Self::Refresh(_)
            | Self::Refreshed(_)
            | Self::Error(_)
            | Self::Drain(_) => None,
        }
    }
}

/// What a client must know before it signs in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// How often the client must send `ping`; two missed close the connection with 4009.
    pub heartbeat_interval_ms: u64,
    /// The node that serves this connection.
    pub node: Uuid,
    /// This connection, as in the server's logs.
    pub connection_id: Uuid,
    /// After a loss the client waits a random time of at most this before it reconnects.
    pub reconnect_jitter_ms: u64,
}

/// Who the connection is, and where every stream of it stands. As JSON who it is is either `user` or
/// `agent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "ReadyFields")]
pub struct Ready {
    /// The session to `resume`.
    pub session_id: Uuid,
    /// The fencing number of the slot: it grows with every identify and resume.
    pub epoch: u64,
    /// The life of the log that `streams` and all cursors belong to.
    pub log_epoch: Uuid,
    /// Whose connection it is.
    #[serde(flatten)]
    pub account: Account,
    /// The rooms of the person or agent.
    pub rooms: Vec<RoomState>,
    /// The head of every stream that this connection follows, empty ones too.
    pub streams: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct ReadyFields {
    session_id: Uuid,
    epoch: u64,
    log_epoch: Uuid,
    #[serde(default)]
    user: Option<User>,
    #[serde(default)]
    agent: Option<AgentSelf>,
    rooms: Vec<RoomState>,
    streams: BTreeMap<String, u64>,
}

impl TryFrom<ReadyFields> for Ready {
    type Error = &'static str;

    fn try_from(fields: ReadyFields) -> Result<Self, Self::Error> {
        let account = match (fields.user, fields.agent) {
            (Some(user), None) => Account::User(user),
            (None, Some(agent)) => Account::Agent(agent),
            _ => return Err("exactly one of user and agent must be given"),
        };
        Ok(Self {
            session_id: fields.session_id,
            epoch: fields.epoch,
            log_epoch: fields.log_epoch,
            account,
            rooms: fields.rooms,
            streams: fields.streams,
        })
    }
}

/// A room as its member sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomState {
    /// Which room.
    pub id: Uuid,
    /// `group` or `dm`.
    pub kind: String,
    /// Its name; direct messages have none.
    pub name: Option<String>,
    /// The number of its newest event, 0 for none.
    pub head: u64,
    /// Events up to this number are no longer kept.
    pub floor: u64,
    /// What the person has read.
    pub last_read: u64,
    /// Whether the person wants no notifications of it.
    pub muted: bool,
    /// The name of its stream.
    pub stream: String,
}

/// One event of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// `room:<id>`, `user:<id>` or `agent:<id>`.
    pub stream: String,
    /// Its number in the stream: from 1, without holes.
    pub seq: u64,
    /// Its id, unique over all streams.
    pub id: Uuid,
    /// What happened.
    pub kind: String,
    /// When, RFC 3339 in UTC.
    pub at: String,
    /// In whose name.
    pub sender: Sender,
    /// The body, by kind.
    pub data: RawJson,
}

/// In whose name an event happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// `user`, `agent` or `system`.
    pub kind: String,
    /// Who; `null` for the system.
    pub id: Option<Uuid>,
}

/// A cursor that can't be served: older than what is kept, ahead of the head, or of another log
/// epoch. The client refetches by REST and goes on from `head`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The stream.
    pub stream: String,
    /// Events up to this number are no longer kept.
    pub floor: u64,
    /// Delivery goes on after this number.
    pub head: u64,
}

/// A person types in a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserTyping {
    /// The room.
    pub room_id: Uuid,
    /// The person.
    pub user_id: Uuid,
}

/// A message was taken: the answer to `send`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The nonce of the `send`.
    pub nonce: String,
    /// The number of its event in the stream of the room.
    pub seq: u64,
    /// The id of its event.
    pub id: Uuid,
}

/// A frame was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorFrame {
    /// A stable name, from the same closed list as in HTTP problems.
    pub code: String,
    /// For people.
    pub detail: String,
    /// The nonce of the frame that was refused, when it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<String>,
    /// The run that the refused frame was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<Uuid>,
    /// The tool call that the refused frame was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<Uuid>,
    /// The question of an autocomplete that the refused frame was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Uuid>,
}

impl ErrorFrame {
    /// A refusal that names nothing yet.
    #[must_use]
    pub fn new(code: impl Into<String>, detail: impl Into<String>) -> Self {
        let (code, detail) = (code.into(), detail.into());
        Self { code, detail, nonce: None, run_id: None, call_id: None, request_id: None }
    }
}

/// A consumer's cursor was moved: the answer to `ack`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acked {
    /// Where the cursor stands now.
    pub seq: u64,
}

/// A notification that a desktop should show now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// Which notification.
    pub notification_id: Uuid,
    /// The room of what it is about.
    pub room_id: Uuid,
    /// The event in the room that it is about.
    pub seq: u64,
    /// The line on top.
    pub title: String,
    /// The text below.
    pub body: String,
}

/// This node is going: reconnect and resume elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drain {
    /// After this delay, so that not all come at once.
    pub after_ms: u64,
}
