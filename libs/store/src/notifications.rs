//! Notifications of people: what they should know of, what they have read, and what they want.
//!
//! A notification is made in the commit of the message, the end of a run or the tool call that it is about, together with
//! `notification.created` in the person's stream. Text is not kept with it: whoever shows it gets it as it stands then, so an edit shows
//! and what was deleted is gone.

use async_trait::async_trait;
use domain::notification::{Facts, Headline, Preferences, Reason, Subject};
use domain::{
    DeviceId, Event, NodeId, NotificationId, NotificationKind, RoomId, RoomKind, RunStatus, Sender, UserId,
};
use jiff::Timestamp;
use uuid::Uuid;

use crate::error::StoreError;

mod notice;

pub(crate) use notice::Notice;

/// Somebody to be notified of what is written with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recipient {
    /// Who.
    pub user: UserId,
    /// What it is to them.
    pub kind: NotificationKind,
}

/// A notification as things stand now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notification {
    /// Which.
    pub id: NotificationId,
    /// Whose.
    pub user: UserId,
    /// Seq in the room of what it is about; 0 when that is no event of the room.
    pub seq: u64,
    /// The message (its event), the run or the tool call.
    pub source: Uuid,
    /// Whose doing it is.
    pub sender: Sender,
    /// What they are called.
    pub sender_name: Option<String>,
    /// What sort of room.
    pub room_kind: RoomKind,
    /// What the room is called.
    pub room_name: Option<String>,
    /// The message, at most 1,000 characters of it; none for other kinds, for what was deleted, and for who has left the room.
    pub body: Option<String>,
    /// How the run stands.
    pub run_status: Option<RunStatus>,
    /// The tool that is called.
    pub tool: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// What it was decided by, once it was.
    pub decision: Option<Reason>,
    /// What decisions read.
    pub facts: Facts,
}

impl Notification {
    /// What it says on a screen; `previews` says whether that tells what was written. Of what is gone, and to who has left the room, it
    /// says whose doing it was and no more.
    #[must_use]
    pub fn headline(&self, previews: bool) -> Headline {
        let subject = Subject {
            sender: self.sender_name.as_deref(),
            room: self.room_name.as_deref().filter(|_| !self.facts.left),
            body: self.body.as_deref(),
            run_status: self.run_status,
            tool: self.tool.as_deref(),
        };
        let headline = Headline::of(self.facts.kind, &subject, previews);
        if self.facts.left || self.facts.withdrawn {
            return Headline { body: String::new(), ..headline };
        }
        headline
    }
}

/// What has not been read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unread {
    /// In all rooms.
    pub total: u64,
    /// By room; rooms without are left out.
    pub rooms: Vec<(RoomId, u64)>,
}

/// What is to count as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadWhat {
    /// These.
    Ids(Vec<NotificationId>),
    /// Those of a room, or of all; up to one, or all.
    UpTo {
        /// Of this room only.
        room: Option<RoomId>,
        /// Nothing newer than this one: what came meanwhile was not seen.
        up_to: Option<NotificationId>,
    },
}

/// What became of a notification at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// When, by the database's clock.
    pub at: Timestamp,
    /// `decided`, `released`, `dropped`, `hinted`, `sent`, `retried`.
    pub step: String,
    /// Why.
    pub reason: Option<String>,
    /// By which node.
    pub node: Option<NodeId>,
    /// On which device (or connection that named none).
    pub device: Option<DeviceId>,
    /// What else is to be said: an answer of a push service, how long it waits.
    pub detail: Option<String>,
}

/// Notifications of people.
#[async_trait]
pub trait Notifications {
    /// A person's notifications, the newest first, older than `before`, at most `limit`. What was withdrawn is left out.
    async fn notifications(
        &self,
        user: UserId,
        before: Option<NotificationId>,
        unread_only: bool,
        limit: u32,
    ) -> Result<Vec<Notification>, StoreError>;

    /// What a person has not read.
    async fn unread(&self, user: UserId) -> Result<Unread, StoreError>;

    /// Marks notifications as read: `notification.read` in the person's stream, when that changed any. What is not theirs is passed over.
    async fn read_notifications(&self, user: UserId, what: &ReadWhat) -> Result<Option<Event>, StoreError>;

    /// A notification of a person and what became of it, the first step first; none when it is not theirs.
    async fn notification_trace(
        &self,
        user: UserId,
        notification: NotificationId,
    ) -> Result<Option<(Notification, Vec<Step>)>, StoreError>;

    /// What a person wants of notifications; the defaults while they have not said.
    async fn preferences(&self, user: UserId) -> Result<Preferences, StoreError>;

    /// Notes what a person wants.
    async fn set_preferences(&self, user: UserId, preferences: &Preferences) -> Result<(), StoreError>;
}
