//! Making notifications of what a transaction writes.

use domain::{Event, EventId, EventKind, NotificationId};
use serde_json::json;

use super::super::append::append_one;
use super::super::fault::Fault;
use super::super::statement::statements;
use super::super::transaction::Tx;
use crate::log::draft::Draft;
use crate::notifications::Notice;
use crate::number::bigint;

statements! {
    IS_HERE = "notifications/is_here";
    CREATE = "notifications/create";
    ENQUEUE = "notifications/enqueue";
}

/// Notifies somebody of an event that this transaction wrote, and tells it in their stream: the event of that. Nobody is notified of what
/// they did themselves, of a room that they are not in, or while they are disabled; nor twice of the same thing, whatever makes it.
///
/// An event of an earlier call that is only repeated by this one notifies nobody: who calls leaves it out.
pub(in crate::sqlite) fn notify(tx: &Tx<'_>, notice: &Notice, cause: &Event) -> Result<Option<Event>, Fault> {
    let Notice { user, kind, room, source } = *notice;
    if cause.sender.id() == Some(user.0) || !tx.exists(IS_HERE, &[&room.0, &user.0])? {
        return Ok(None);
    }
    let id = NotificationId::new();
    // What is about no event of the room (a tool call) is read by no mark.
    let seq = if cause.stream.id == room.0 { cause.seq } else { 0 };
    let made = tx.execute(
        CREATE,
        &[
            &id.0,
            &user.0,
            &kind.as_str(),
            &room.0,
            &bigint(seq),
            &source,
            &cause.sender.kind(),
            &cause.sender.id(),
            &tx.micros(),
        ],
    )?;
    if made == 0 {
        return Ok(None);
    }
    tx.execute(ENQUEUE, &[&id.0, &user.0, &tx.micros()])?;
    let data = json!({
        "notification_id": id, "kind": kind.as_str(), "room_id": room, "seq": seq, "source_id": source,
    });
    let told = Draft {
        stream: user.into(),
        id: EventId::new(),
        kind: EventKind::NotificationCreated,
        sender: cause.sender,
        nonce: None,
        data: data.to_string().into(),
        trace: cause.trace.clone(),
        notice: None,
    };
    append_one(tx, &told).map(Some)
}
