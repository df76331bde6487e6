//! Events that are to be written.

use std::sync::Arc;

use domain::{EventId, EventKind, Principal, Sender, StreamRef, UserId};

use crate::notifications::Notice;

/// An event that has no seq yet.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub(crate) stream: StreamRef,
    pub(crate) id: EventId,
    pub(crate) kind: EventKind,
    pub(crate) sender: Sender,
    /// Unique per stream and sender.
    pub(crate) nonce: Option<String>,
    /// The body, as JSON text.
    pub(crate) data: Arc<str>,
    pub(crate) trace: Option<Arc<str>>,
    /// Who is notified of it, once it is written.
    pub(crate) notice: Option<Notice>,
}

impl Draft {
    /// An event with a fresh id, of the system, without nonce, of the trace that is under way.
    pub(crate) fn of_system(stream: impl Into<StreamRef>, kind: EventKind, data: &serde_json::Value) -> Self {
        Self {
            stream: stream.into(),
            id: EventId::new(),
            kind,
            sender: Sender::System,
            nonce: None,
            data: data.to_string().into(),
            trace: trace::traceparent(),
            notice: None,
        }
    }

    /// An event in the name of a person, with a fresh id, without nonce.
    pub(crate) fn of_user(
        user: UserId,
        stream: impl Into<StreamRef>,
        kind: EventKind,
        data: &serde_json::Value,
    ) -> Self {
        Self::of_member(user.into(), stream, kind, data)
    }

    /// An event in the name of a person or an agent, with a fresh id, without nonce.
    pub(crate) fn of_member(
        member: Principal,
        stream: impl Into<StreamRef>,
        kind: EventKind,
        data: &serde_json::Value,
    ) -> Self {
        Self { sender: member.into(), ..Self::of_system(stream, kind, data) }
    }
}
