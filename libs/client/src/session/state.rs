//! What a user sees of a session.

use protocol::CloseCode;
use protocol::frame::{
    Acked, AutocompleteRequest, Choices, ErrorFrame, Event, Gap, Hint, Presence, Ready, Run, Sent, ToolCall,
    ToolCalled, UserTyping,
};
use tokio::time::Instant;

/// Where a session stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// On the way to `ready`.
    Connecting {
        /// The gateway; empty before the first attempt.
        url: String,
    },
    /// Connected; what was missed is coming.
    Replaying,
    /// Connected and up to date.
    Live,
    /// No connection.
    Waiting {
        /// When the next attempt begins.
        until: Instant,
        /// Why there is no connection.
        why: String,
    },
    /// Ended for good.
    Stopped {
        /// Why.
        why: StopReason,
    },
}

/// Why a session ended for good.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StopReason {
    /// Its user wanted it.
    #[error("stopped by its user")]
    Asked,
    /// The server closed with a code after which a client must not come back by itself.
    #[error("closed with {}: {reason}", code.code())]
    Closed {
        /// The code.
        code: CloseCode,
        /// The text beside it.
        reason: String,
    },
    /// There is no way to sign in any more: log in again.
    #[error("sign-in: {0}")]
    SignIn(String),
    /// The settings can't work, such as an empty list of gateways.
    #[error("settings: {0}")]
    Settings(String),
}

/// What the server did that it must not do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Events are missing in a stream.
    #[error("{stream}: {got} came instead of {expected}")]
    Hole {
        /// The stream.
        stream: String,
        /// The number that should have come.
        expected: u64,
        /// The number that came.
        got: u64,
    },
    /// An event came again; it was dropped.
    #[error("{stream}: {seq} came again")]
    Duplicate {
        /// The stream.
        stream: String,
        /// The number.
        seq: u64,
    },
    /// An event of a stream that neither `ready` nor `room.added` named; it was given to the user.
    #[error("{stream}: {seq} came, but the stream was never named")]
    UnknownStream {
        /// The stream.
        stream: String,
        /// The number.
        seq: u64,
    },
}

/// What a session gives to its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// The state is another one.
    State(State),
    /// A connection is signed in: rooms, heads, log epoch.
    Ready(Box<Ready>),
    /// An event, once.
    Event(Event),
    /// Events that can't be had by replay: refetch by REST.
    Gap(Gap),
    /// Somebody types.
    Typing(UserTyping),
    /// Somebody came, went or fell idle.
    Presence(Presence),
    /// How a run stands, and what changed of its document.
    Run(Run),
    /// A notification that should be shown now.
    Hint(Hint),
    /// An agent asks this person's devices for something.
    ToolCall(ToolCall),
    /// A tool call of this agent was taken.
    ToolCalled(ToolCalled),
    /// Somebody asks this agent how a command could go on.
    Autocomplete(AutocompleteRequest),
    /// How the command that was asked about could go on.
    Choices(Choices),
    /// The cursor of this consumer was moved.
    Acked(Acked),
    /// A message was taken.
    Sent(Sent),
    /// The server refused a frame.
    Error(ErrorFrame),
    /// The server did what it must not do.
    Fault(Fault),
}
