//! Every frame of the gateway as a plain type.
//!
//! Phases of a connection: connected, [`ServerFrame::Hello`], then the client's
//! [`ClientFrame::Identify`] or [`ClientFrame::Resume`], [`ServerFrame::Ready`], replay of what the
//! client lacks, [`ServerFrame::Live`]. A frame as JSON is one object whose `op` is the name of the
//! variant in snake case.
//!
//! A server refuses fields it does not know; a client skips them, so that a newer server may say more.

mod client;
mod cursors;
mod raw;
mod server;

pub use client::{ClientFrame, Focus, Identify, Read, Resume, Send, Slot, Typing};
pub use cursors::Cursors;
pub use raw::RawJson;
pub use server::{
    Drain, ErrorFrame, Event, Gap, Hello, Presence, PresenceStatus, Ready, RoomState, Sender, Sent,
    ServerFrame, Subject, User, UserTyping,
};
