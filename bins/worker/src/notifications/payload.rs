//! What a device is told: JSON, small enough to be encrypted into one record.

use domain::notification::Headline;
use domain::{NotificationId, NotificationKind, RoomId};
use serde::Serialize;
use store::notifications::Notification;
use uuid::Uuid;

/// How much of it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// What was written, too.
    Full,
    /// From whom and where.
    Title,
    /// That there is something.
    Bare,
}

impl Detail {
    /// The next shorter one.
    pub(super) const fn shorter(self) -> Option<Self> {
        match self {
            Self::Full => Some(Self::Title),
            Self::Title => Some(Self::Bare),
            Self::Bare => None,
        }
    }
}

#[derive(Serialize)]
struct Payload<'a> {
    #[serde(rename = "type")]
    sort: &'static str,
    notification_id: NotificationId,
    /// All that this push is for, the oldest first.
    notification_ids: &'a [NotificationId],
    count: usize,
    kind: NotificationKind,
    room_id: RoomId,
    seq: u64,
    source_id: Uuid,
    title: String,
    body: String,
    /// What the person has not read, in all rooms: the number on the icon.
    unread: u64,
}

/// The payload for notifications of one room, the newest last, of which there is at least one; as much of it as fits.
pub(super) fn of(
    notifications: &[&Notification],
    unread: u64,
    previews: bool,
    detail: Detail,
    max_bytes: usize,
) -> Option<(String, Detail)> {
    let newest = notifications.last()?;
    let ids: Vec<NotificationId> = notifications.iter().map(|one| one.id).collect();
    let mut detail = detail;
    loop {
        let Headline { title, body } = headline(newest, ids.len(), previews, detail);
        let payload = Payload {
            sort: "notification",
            notification_id: newest.id,
            notification_ids: if detail == Detail::Bare { &ids[ids.len() - 1..] } else { &ids },
            count: ids.len(),
            kind: newest.facts.kind,
            room_id: newest.facts.room,
            seq: newest.seq,
            source_id: newest.source,
            title,
            body,
            unread,
        };
        let text = serde_json::to_string(&payload).ok()?;
        if text.len() <= max_bytes {
            return Some((text, detail));
        }
        detail = detail.shorter()?;
    }
}

fn headline(newest: &Notification, count: usize, previews: bool, detail: Detail) -> Headline {
    if detail == Detail::Bare {
        return Headline { title: "Something new".to_owned(), body: String::new() };
    }
    let mut headline = newest.headline(previews && detail == Detail::Full);
    if count > 1 {
        headline.title = format!("{} ({count})", headline.title);
    }
    headline
}

/// The payload of a push to try a device.
pub(super) fn test() -> String {
    serde_json::json!({ "type": "test", "title": "Switchboard", "body": "Pushes reach this device." })
        .to_string()
}
