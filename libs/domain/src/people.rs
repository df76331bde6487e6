//! People and their devices.

use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::Invalid;
use crate::id::{DeviceId, UserId};

/// What a person may do on the whole installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// An ordinary person.
    User,
    /// May use `/v1/admin`.
    Admin,
}

impl Role {
    /// `user` or `admin`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Role {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "user" => Ok(Self::User),
            "admin" => Ok(Self::Admin),
            _ => Err(Invalid::new("role", text, "user or admin")),
        }
    }
}

/// A person as others see them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Who.
    pub id: UserId,
    /// The unique name that mentions use.
    pub handle: String,
    /// The name that people read.
    pub display_name: String,
    /// What they may do.
    pub role: Role,
}

/// What a device is; push and hints are decided by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceKind {
    /// An installed program on a computer.
    Desktop,
    /// A phone or tablet.
    Mobile,
    /// A browser.
    Web,
}

impl DeviceKind {
    /// `desktop`, `mobile` or `web`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Desktop => "desktop",
            Self::Mobile => "mobile",
            Self::Web => "web",
        }
    }
}

impl FromStr for DeviceKind {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "desktop" => Ok(Self::Desktop),
            "mobile" => Ok(Self::Mobile),
            "web" => Ok(Self::Web),
            _ => Err(Invalid::new("kind", text, "desktop, mobile or web")),
        }
    }
}

/// A device of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// Which device.
    pub id: DeviceId,
    /// What it is.
    pub kind: DeviceKind,
    /// What its owner calls it.
    pub name: String,
    /// When it was added.
    pub created_at: Timestamp,
}
