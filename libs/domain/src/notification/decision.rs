//! Where a notification goes: a pure function of what it is, what the person wants, and where they are.

use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{NotificationKind, Preferences};
use crate::error::Invalid;
use crate::id::RoomId;
use crate::people::DeviceKind;
use crate::presence::LivePresence;
use crate::run::named;

named! {
    /// Why something was decided.
    Reason, "reason", "one of the reasons in the guide to notifications":
    /// Nothing: the person muted the room, and is not mentioned.
    Muted = "muted",
    /// Nothing: it is their own doing.
    Author = "author",
    /// Nothing: their account is disabled.
    Disabled = "disabled",
    /// Nothing: they have read it.
    Read = "read",
    /// Nothing: the message was deleted, or the tool call is over.
    Withdrawn = "withdrawn",
    /// Nothing: it is older than `push.max_age`.
    Expired = "expired",
    /// Nothing: they are no longer in the room.
    Left = "left",
    /// Nothing: they want none of this kind.
    Unwanted = "unwanted",
    /// Nothing, it stays in the list: they are not to be disturbed.
    Dnd = "dnd",
    /// Nothing: the room is on a screen in use.
    Focused = "focused",
    /// A hint on the desktop that is in use; the push waits.
    Gateway = "gateway",
    /// The push waits, or has waited for `push.delay`: a device is in use.
    PushDelayed = "push_delayed",
    /// A push: they are connected, but no device is in use.
    PushIdle = "push_idle",
    /// A push: they are not connected.
    PushOffline = "push_offline",
}

/// What is known of a notification when it is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What it is about.
    pub kind: NotificationKind,
    /// In which room.
    pub room: RoomId,
    /// It is the person's own doing.
    pub is_author: bool,
    /// Their account is disabled.
    pub disabled: bool,
    /// They have muted the room.
    pub muted: bool,
    /// They have read it, on whatever device.
    pub read: bool,
    /// What it is about is gone.
    pub withdrawn: bool,
    /// They have left the room.
    pub left: bool,
}

/// What is to happen now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Nothing more, ever.
    Nothing(Reason),
    /// A hint on the desktops in use; a push once `push.delay` is over and it is still unread.
    Hint,
    /// Only the push, later: what is in use is a phone, whose app has the event and shows it itself.
    Wait,
    /// A push now.
    Push(Reason),
}

impl Decision {
    /// Why.
    #[must_use]
    pub const fn reason(self) -> Reason {
        match self {
            Self::Nothing(reason) | Self::Push(reason) => reason,
            Self::Hint => Reason::Gateway,
            Self::Wait => Reason::PushDelayed,
        }
    }

    /// What is left of it once `push.delay` is over.
    #[must_use]
    pub const fn after_delay(self) -> Self {
        match self {
            Self::Hint | Self::Wait => Self::Push(Reason::PushDelayed),
            Self::Nothing(_) | Self::Push(_) => self,
        }
    }
}

/// Decides. `live` are the person's connections on all nodes; `now` is the database's time.
#[must_use]
pub fn decide(facts: &Facts, preferences: &Preferences, live: &[LivePresence], now: Timestamp) -> Decision {
    if let Some(reason) = nothing(facts, preferences, now) {
        return Decision::Nothing(reason);
    }
    let mut in_use = live.iter().filter(|connection| !connection.idle).peekable();
    if in_use.peek().is_none() {
        return Decision::Push(if live.is_empty() { Reason::PushOffline } else { Reason::PushIdle });
    }
    let (mut focused, mut desktop) = (false, false);
    for connection in in_use {
        focused |= connection.focus == Some(facts.room);
        desktop |= matches!(connection.kind, DeviceKind::Desktop | DeviceKind::Web);
    }
    match (focused, desktop) {
        (true, _) => Decision::Nothing(Reason::Focused),
        (false, true) => Decision::Hint,
        (false, false) => Decision::Wait,
    }
}

/// Why nothing happens wherever the person is.
fn nothing(facts: &Facts, preferences: &Preferences, now: Timestamp) -> Option<Reason> {
    let muted = facts.muted && facts.kind != NotificationKind::Mention;
    let reasons = [
        (facts.is_author, Reason::Author),
        (facts.disabled, Reason::Disabled),
        (facts.left, Reason::Left),
        (facts.withdrawn, Reason::Withdrawn),
        (facts.read, Reason::Read),
        (muted, Reason::Muted),
        (!preferences.wants(facts.kind), Reason::Unwanted),
        (preferences.dnd.holds_at(now), Reason::Dnd),
    ];
    reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
}

#[cfg(test)]
mod tests;
