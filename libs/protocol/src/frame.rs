//! Every frame of the gateway as a plain type.
//!
//! Phases of a connection: connected, [`ServerFrame::Hello`], then the client's
//! [`ClientFrame::Identify`] or [`ClientFrame::Resume`], [`ServerFrame::Ready`], replay of what the
//! client lacks, [`ServerFrame::Live`]. A frame as JSON is one object whose `op` is the name of the
//! variant in snake case; [`ServerFrame::Autocomplete`] and [`ServerFrame::Choices`] share theirs, and the
//! fields tell them apart.
//!
//! A server refuses fields it does not know; a client skips them, so that a newer server may say more.

mod account;
mod autocomplete;
mod client;
mod cursors;
mod duration;
mod presence;
mod raw;
mod refresh;
mod run;
mod server;
mod tool;

pub use account::{Account, AgentSelf, User};
pub use autocomplete::{Autocomplete, AutocompleteReply, AutocompleteRequest, Choices};
pub use client::{Ack, ClientFrame, Focus, Identify, Read, Resume, Send, Slot, Typing};
pub use cursors::Cursors;
pub use duration::WireDuration;
pub use presence::{Presence, PresenceStatus, Subject};
pub use raw::RawJson;
pub use refresh::{Refresh, RefreshAsked, Refreshed};
pub use run::{Run, RunChange, RunFinish, RunPatch, RunStart, Unwatch, Watch};
pub use server::{
    Acked, Drain, ErrorFrame, Event, Gap, Hello, Hint, Ready, RoomState, Sender, Sent, ServerFrame,
    UserTyping,
};
pub use tool::{CallTool, ToolCall, ToolCalled, ToolOutcome, ToolResult};
