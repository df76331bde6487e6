//! Rooms and who is in them.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Invalid;

/// What a room is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RoomKind {
    /// Any number of members, with a name.
    Group,
    /// Direct messages of exactly two; there is one for each pair.
    Dm,
}

impl RoomKind {
    /// `group` or `dm`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Group => "group",
            Self::Dm => "dm",
        }
    }
}

impl FromStr for RoomKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "group" => Ok(Self::Group),
            "dm" => Ok(Self::Dm),
            _ => Err(Invalid::new("kind", text, "group or dm")),
        }
    }
}

/// What a member may do in a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemberRole {
    /// May add and remove members and rename the room.
    Owner,
    /// May read and write, and leave.
    Member,
}

impl MemberRole {
    /// `owner` or `member`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Member => "member",
        }
    }
}

impl FromStr for MemberRole {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "owner" => Ok(Self::Owner),
            "member" => Ok(Self::Member),
            _ => Err(Invalid::new("role", text, "owner or member")),
        }
    }
}
