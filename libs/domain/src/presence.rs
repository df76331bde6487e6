//! Who is there: live connections of people, and what they add up to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Invalid;
use crate::id::{ConnectionId, DeviceId, RoomId};
use crate::people::DeviceKind;

/// A live connection of a person, as decisions see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LivePresence {
    /// Which connection.
    pub connection: ConnectionId,
    /// On which device; none for a stream that named none.
    pub device: Option<DeviceId>,
    /// What that device is. A stream without a device counts as `web`.
    pub kind: DeviceKind,
    /// Nobody has touched the device for a while.
    pub idle: bool,
    /// The room on its screen.
    pub focus: Option<RoomId>,
}

/// How a person is seen, over all their connections on all nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersonStatus {
    /// There, and doing something on at least one device.
    Online,
    /// Connected, but nobody does anything on any device.
    Idle,
    /// Not connected.
    Offline,
}

impl PersonStatus {
    /// What live connections add up to.
    pub fn of<'a>(live: impl IntoIterator<Item = &'a LivePresence>) -> Self {
        live.into_iter().fold(Self::Offline, |status, connection| match (status, connection.idle) {
            (Self::Online, _) | (_, false) => Self::Online,
            (Self::Idle | Self::Offline, true) => Self::Idle,
        })
    }

    /// `online`, `idle` or `offline`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Online => "online",
            Self::Idle => "idle",
            Self::Offline => "offline",
        }
    }
}

impl fmt::Display for PersonStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for PersonStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "online" => Ok(Self::Online),
            "idle" => Ok(Self::Idle),
            "offline" => Ok(Self::Offline),
            _ => Err(Invalid::new("status", text, "online, idle or offline")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_device_in_use_is_enough_to_be_online() {
        let connection = |idle| LivePresence {
            connection: ConnectionId::new(),
            device: None,
            kind: DeviceKind::Web,
            idle,
            focus: None,
        };
        let (used, idle) = (connection(false), connection(true));
        assert_eq!(PersonStatus::of([]), PersonStatus::Offline);
        assert_eq!(PersonStatus::of([&idle, &idle]), PersonStatus::Idle);
        assert_eq!(PersonStatus::of([&idle, &used, &idle]), PersonStatus::Online);
        assert_eq!(PersonStatus::of([&used]), PersonStatus::Online);
        for status in [PersonStatus::Online, PersonStatus::Idle, PersonStatus::Offline] {
            assert_eq!(status.as_str().parse(), Ok(status));
        }
    }
}
