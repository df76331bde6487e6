//! Notifications of the person signed in.

use domain::notification::{Preferences, Reason};
use domain::{DeviceId, NodeId, NotificationId, NotificationKind, RoomId};
use jiff::Timestamp;
use protocol::frame::Sender;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::call::Call;
use super::{Api, ApiError};

/// Something that one should know of, as it stands now.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Notification {
    /// Which.
    pub id: NotificationId,
    /// What it is about.
    pub kind: NotificationKind,
    /// In which room.
    pub room_id: RoomId,
    /// Seq in the room of what it is about; 0 when that is no event there.
    pub seq: u64,
    /// The message (its event), the run or the tool call.
    pub source_id: Uuid,
    /// Whose doing it is.
    pub sender: Sender,
    /// What they are called.
    #[serde(default)]
    pub sender_name: Option<String>,
    /// From whom, and where.
    pub title: String,
    /// What; empty when that is gone.
    pub body: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// It was read, on whatever device.
    pub read: bool,
    /// By what it was decided, once it was.
    #[serde(default)]
    pub decision: Option<Reason>,
}

/// What was not read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct Unread {
    /// In all rooms.
    pub total: u64,
    /// By room; rooms without are left out.
    pub rooms: Vec<UnreadOfRoom>,
}

/// What was not read of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct UnreadOfRoom {
    /// Which.
    pub room_id: RoomId,
    /// How many.
    pub count: u64,
}

/// A part of the notifications.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NotificationPage {
    /// The entries, the newest first.
    pub items: Vec<Notification>,
    /// Where the next part begins; none after the last.
    pub next: Option<String>,
    /// What was not read, in this part or not.
    pub unread: Unread,
}

/// What is to count as read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ReadNotifications {
    /// These.
    These {
        /// Which, 1 to 500.
        ids: Vec<NotificationId>,
    },
    /// Those of a room, or of all; up to one, or all.
    UpTo {
        /// Of this room only.
        #[serde(skip_serializing_if = "Option::is_none")]
        room_id: Option<RoomId>,
        /// Nothing newer than this one: what came meanwhile was not seen.
        #[serde(skip_serializing_if = "Option::is_none")]
        up_to: Option<NotificationId>,
    },
}

/// What became of a notification at one time.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NotificationStep {
    /// When.
    pub at: Timestamp,
    /// What: `decided`, `released`, `dropped`, `hinted`, `sent`, `retried`.
    pub step: String,
    /// Why.
    #[serde(default)]
    pub reason: Option<String>,
    /// By which node.
    #[serde(default)]
    pub node_id: Option<NodeId>,
    /// On which device, or connection that named none.
    #[serde(default)]
    pub device_id: Option<DeviceId>,
    /// What else is to be said.
    #[serde(default)]
    pub detail: Option<String>,
}

/// Why a notification was or was not hinted at and pushed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NotificationTrace {
    /// The notification.
    pub notification: Notification,
    /// What became of it, the first step first.
    pub steps: Vec<NotificationStep>,
}

/// What marking as read answers.
#[derive(Deserialize)]
struct Left {
    unread: Unread,
}

impl Api {
    /// The notifications, the newest first; all, or those that were not read.
    ///
    /// # Errors
    ///
    /// Not signed in as a person, or no answer.
    pub async fn notifications(
        &self,
        unread_only: bool,
        cursor: Option<&str>,
        limit: Option<u32>,
    ) -> Result<NotificationPage, ApiError> {
        let call =
            Call::new(Method::GET, &["v1", "notifications"]).query("unread", unread_only.then_some(true));
        self.ask(&call.query("cursor", cursor).query("limit", limit)).await
    }

    /// Marks notifications as read, on all devices. Answers what is left.
    ///
    /// # Errors
    ///
    /// None or too many are named.
    pub async fn read_notifications(&self, what: &ReadNotifications) -> Result<Unread, ApiError> {
        let left: Left =
            self.ask(&Call::new(Method::POST, &["v1", "notifications", "read"]).body(what)).await?;
        Ok(left.unread)
    }

    /// Why a notification was or was not hinted at and pushed, and when.
    ///
    /// # Errors
    ///
    /// There is no such notification, or it is somebody else's.
    pub async fn notification_trace(&self, id: NotificationId) -> Result<NotificationTrace, ApiError> {
        let id = id.to_string();
        self.ask(&Call::new(Method::GET, &["v1", "notifications", &id, "trace"])).await
    }

    /// What one wants of notifications.
    ///
    /// # Errors
    ///
    /// Not signed in as a person, or no answer.
    pub async fn notification_preferences(&self) -> Result<Preferences, ApiError> {
        self.ask(&Call::new(Method::GET, &["v1", "notifications", "preferences"])).await
    }

    /// Notes what one wants, as a whole. Answers what stands.
    ///
    /// # Errors
    ///
    /// Not signed in as a person, or no answer.
    pub async fn set_notification_preferences(
        &self,
        preferences: &Preferences,
    ) -> Result<Preferences, ApiError> {
        let path = ["v1", "notifications", "preferences"];
        self.ask(&Call::new(Method::PUT, &path).body(preferences)).await
    }
}
