//! What is decided on messages, whatever database keeps them.

use domain::{Event, EventId, EventKind, MemberRole, Principal, RoomId};
use serde_json::json;
use uuid::Uuid;

use super::{MessageEdit, Reaction};
use crate::error::Refusal;
use crate::log::draft::Draft;

pub(crate) const NO_ROOM: Refusal = Refusal::NotFound("room");
pub(crate) const NO_MESSAGE: Refusal = Refusal::NotFound("message");
pub(crate) const BAD_REPLY: Refusal = Refusal::Invalid("reply_to", "a message of this room");

/// A message as it stands, and the role of the one who wants to change it.
pub(crate) struct Judged {
    pub(crate) role: MemberRole,
    /// A person or an agent: ids are unique over both.
    pub(crate) sender: Uuid,
    pub(crate) deleted: bool,
}

impl Judged {
    pub(crate) fn may_edit(&self, actor: Principal) -> Result<(), Refusal> {
        if self.sender != actor.id() {
            return Err(Refusal::Forbidden);
        }
        if self.deleted { Err(Refusal::MessageDeleted) } else { Ok(()) }
    }

    pub(crate) fn may_delete(&self, actor: Principal) -> Result<(), Refusal> {
        let may = self.sender == actor.id() || self.role == MemberRole::Owner;
        if may { Ok(()) } else { Err(Refusal::Forbidden) }
    }

    pub(crate) fn may_react(&self, change: Change) -> Result<(), Refusal> {
        if self.deleted && change == Change::Add { Err(Refusal::MessageDeleted) } else { Ok(()) }
    }
}

/// `message.edited`.
pub(crate) fn edited(edit: &MessageEdit) -> Draft {
    Draft {
        stream: edit.room.into(),
        id: edit.id,
        kind: EventKind::MessageEdited,
        sender: edit.actor.into(),
        nonce: None,
        data: edit.data.clone(),
        trace: trace::traceparent(),
        notice: None,
    }
}

/// The event with the id of an edit: of this edit, by a call whose answer was lost.
pub(crate) fn same_edit(edit: &MessageEdit, event: Event) -> Result<Event, Refusal> {
    let same = event.stream == edit.room.into()
        && event.kind == EventKind::MessageEdited
        && event.sender == edit.actor.into();
    if same { Ok(event) } else { Err(Refusal::NonceReused) }
}

/// `message.deleted`.
pub(crate) fn deleted(actor: Principal, room: RoomId, message: EventId) -> Draft {
    Draft::of_member(actor, room, EventKind::MessageDeleted, &json!({ "event_id": message }))
}

/// What becomes of a reaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    Add,
    Remove,
}

impl Change {
    /// `reaction.added` or `reaction.removed`.
    pub(crate) fn draft(self, reaction: &Reaction) -> Draft {
        let kind = match self {
            Self::Add => EventKind::ReactionAdded,
            Self::Remove => EventKind::ReactionRemoved,
        };
        let data = json!({ "event_id": reaction.message, "emoji": reaction.emoji });
        Draft::of_member(reaction.actor, reaction.room, kind, &data)
    }
}
