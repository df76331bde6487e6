//! Who is to be notified of what is written.

use domain::{NotificationKind, RoomId, UserId};
use uuid::Uuid;

/// Somebody is to be notified of an event that is written in the same transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Notice {
    pub(crate) user: UserId,
    pub(crate) kind: NotificationKind,
    pub(crate) room: RoomId,
    /// The message, run or tool call that it is about.
    pub(crate) source: Uuid,
}
