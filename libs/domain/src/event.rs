//! Events: the rows of a stream.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use uuid::Uuid;

use crate::id::{AgentId, EventId, UserId};
use crate::stream::StreamRef;

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What happened. Kinds of a newer release are carried along unread, so that nodes of two
        /// releases can serve the same log.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum EventKind {
            $($(#[$doc])* $name,)*
            /// A kind that this release does not know.
            Other(Arc<str>),
        }

        impl EventKind {
            /// The name as it is stored and sent.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self { $(Self::$name => $text,)* Self::Other(name) => name }
            }
        }

        impl From<&str> for EventKind {
            fn from(text: &str) -> Self {
                match text { $($text => Self::$name,)* _ => Self::Other(text.into()) }
            }
        }
    };
}

kinds! {
    /// A message: `{body, nonce, reply_to, mentions}`, and `agents` when agents are mentioned.
    MessageCreated = "message.created",
    /// A message has a new body: `{event_id, body, mentions}`, and `agents` when agents are mentioned.
    MessageEdited = "message.edited",
    /// A message is gone: `{event_id}`.
    MessageDeleted = "message.deleted",
    /// `{event_id, emoji}`.
    ReactionAdded = "reaction.added",
    /// `{event_id, emoji}`.
    ReactionRemoved = "reaction.removed",
    /// `{user_id, role}` or `{agent_id, role}`.
    MemberJoined = "member.joined",
    /// `{user_id}` or `{agent_id}`.
    MemberLeft = "member.left",
    /// `{name}`.
    RoomUpdated = "room.updated",
    /// A run was made: `{run_id, agent_id}`. Its document is no part of the log: it is followed by version.
    RunCreated = "run.created",
    /// A run came to its end: `{run_id, agent_id, status}`.
    RunFinished = "run.finished",
    /// To a person or an agent: `{room_id, kind, name, head}`; delivery of the room begins after `head`.
    RoomAdded = "room.added",
    /// To a person or an agent: `{room_id, seq}`; delivery of the room ends before its event `seq`, which is `member.left`.
    RoomRemoved = "room.removed",
    /// To a person: `{room_id, seq}`, read on some device.
    ReadMoved = "read.moved",
    /// To a person: `{session_id}`, a sign-in was ended.
    SessionRevoked = "session.revoked",
    /// To a person: `{call_id, run_id, room_id, agent_id, tool, args, deadline}`, a tool in their browser is called.
    ToolCalled = "tool.called",
    /// To the person and to the agent: `{call_id, run_id, status, result, error}`, a tool call was answered, expired or was
    /// cancelled.
    ToolResolved = "tool.resolved",
    /// To a person: `{notification_id, kind, room_id, seq, source_id}`, something they should know of.
    NotificationCreated = "notification.created",
    /// To a person: `{notification_ids}`, `{room_id, seq}` or `{up_to}`, and `unread`: they have read it on some device.
    NotificationRead = "notification.read",
    /// To an agent: `{run_id, room_id, input}`, it may start this run now.
    RunRequested = "run.requested",
    /// To an agent: `{run_id, room_id}`, it should stop this run.
    RunCancelRequested = "run.cancel_requested",
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// In whose name an event happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sender {
    /// A person.
    User(UserId),
    /// An agent.
    Agent(AgentId),
    /// Switchboard itself.
    System,
}

impl Sender {
    /// `user`, `agent` or `system`.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Agent(_) => "agent",
            Self::System => "system",
        }
    }

    /// The id behind it; none for the system.
    #[must_use]
    pub const fn id(self) -> Option<Uuid> {
        match self {
            Self::User(id) => Some(id.0),
            Self::Agent(id) => Some(id.0),
            Self::System => None,
        }
    }
}

/// One event of one stream: row `(stream, seq)` of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The stream it is numbered in.
    pub stream: StreamRef,
    /// Its number: from 1, without holes, in the order of commit.
    pub seq: u64,
    /// Its id, unique over all streams.
    pub id: EventId,
    /// What happened.
    pub kind: EventKind,
    /// When it was written, by the database's clock.
    pub at: Timestamp,
    /// In whose name.
    pub sender: Sender,
    /// The body: a JSON object as text, so that it travels from the database to sockets unparsed.
    pub data: Arc<str>,
    /// W3C `traceparent` of the call that wrote it, so that the trace goes on where it is delivered.
    pub trace: Option<Arc<str>>,
}
